import { setTimeout as pause } from 'node:timers/promises';
import type { Stage } from './stage.ts';

/** The number of concurrent readers. */
const readers = 4;

interface Amounts {
	/** The minimum number of cuts. */
	readonly count: number;
	readonly kills: number;
}

/**
 * Lets several readers read until there were enough cuts, and kills the server meanwhile.
 *
 * @param read reads once, and returns the number of its cuts. `place` differs in each call
 */
export async function readUnderKills(
	{ random, server }: Stage,
	{ count, kills }: Amounts,
	read: (place: string) => Promise<number>,
): Promise<void> {
	let cuts = 0;
	let isKilling = true;
	const killing = async (): Promise<void> => {
		for (let n = 0; n < kills; n++) {
			await pause(random(500, 3_000));
			await server.restart();
		}
		isKilling = false;
	};
	const reading = Array.from({ length: readers }, async (_, n) => {
		for (let round = 0; cuts < count || isKilling; round++) {
			const more = await read(`${n}-${round}`);
			cuts += more;
		}
	});
	await Promise.all([killing(), ...reading]);
}
