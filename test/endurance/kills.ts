import { setTimeout as pause } from 'node:timers/promises';
import { threeTools } from './script.ts';
import { outcomes, type Sent, untilQuiet } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** Runs at once. */
const inFlight = 8;
/** A run that was cut off makes room for a new one after so long, in milliseconds. */
const roomMs = 5_000;

/**
 * SIGKILLs at random moments of runs with three tools, while new ones begin. Nothing that was acknowledged is lost, every
 * run ends within a minute of the last kill though nobody asks for it, and no tool has an effect twice.
 */
export function kills({ count = 200, seed }: Options): Promise<Figures> {
	const world = { script: threeTools(400), pieceLength: 20, paceMs: 20, toolMs: 300, seed };
	return onStage(world, async (stage) => {
		const { server, random, outside } = stage;
		const sent: Sent[] = [];
		let isOver = false;
		const clients = Array.from({ length: inFlight }, async (_, n) => {
			for (let round = 0; !isOver; round++) sent.push(await runOne(stage, `run-${n}-${round}`));
		});
		const killing = async (): Promise<void> => {
			for (let n = 0; n < count; n++) {
				await pause(random(200, 4_000));
				await server.restart();
			}
			isOver = true;
		};
		await Promise.all([killing(), ...clients]);
		const quietMs = await untilQuiet(stage, sent);
		const { completed, interrupted } = await outcomes(stage, sent);
		return {
			seed: stage.seed,
			kills: count,
			'runs acknowledged': sent.length,
			completed,
			'out of attempts': interrupted,
			'seconds from the last kill to the last end': (quietMs / 1_000).toFixed(1),
			'model calls': outside.upstream.asks.length,
			'model calls cut': outside.upstream.asks.filter(({ state }) => state === 'cut').length,
			'safe calls repeated under their key': outside.effects.repeated('keyed') + outside.effects.repeated('lookup'),
			'unsafe calls repeated': outside.effects.repeated('unsafe'),
		};
	});
}

/** Begins a run; resolves when it is over, or long enough ago. */
async function runOne({ client, outside }: Stage, tag: string): Promise<Sent> {
	const session = await client.begin(tag);
	const late = new AbortController();
	await Promise.race([outside.upstream.final(tag), pause(roomMs, undefined, { signal: late.signal }).catch(() => {})]);
	late.abort();
	return { tag, session };
}
