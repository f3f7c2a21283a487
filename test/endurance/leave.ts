import { setTimeout as pause } from 'node:timers/promises';
import { checkReading } from './history.ts';
import { read } from './reader.ts';
import { threeTools } from './script.ts';
import { type Figures, type Options, onStage } from './stage.ts';

/** How long a client stays connected, in milliseconds. */
const stayMs = 1_000;

/** Clients that send a message and disconnect after a second. Every run completes without a client. */
export function leave({ count = 100, seed }: Options): Promise<Figures> {
	const world = { script: threeTools(600), pieceLength: 12, paceMs: 30, toolMs: 100, seed };
	return onStage(world, async ({ client, outside, seed }) => {
		const begun = performance.now();
		let finishedEarly = 0;
		const sessions = await Promise.all(
			Array.from({ length: count }, async (_, n) => {
				const tag = `run-${n}`;
				const { session, response } = await client.stream(tag);
				await pause(stayMs);
				await response.body?.cancel();
				if (outside.upstream.isFinal(tag)) finishedEarly++;
				return { tag, session };
			}),
		);
		await Promise.all(sessions.map(({ tag }) => outside.upstream.final(tag)));
		if (finishedEarly > 0) throw new Error(`${finishedEarly} runs were over before their client left`);
		for (const { tag, session } of sessions) {
			const { transcript } = await read(client, session);
			if (transcript.end?.type !== 'done') throw new Error(`${tag}: ended as ${transcript.end?.type}`);
			checkReading(tag, transcript, await client.history(session));
		}
		outside.effects.check();
		const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
		return { seed, 'clients that left': count, 'runs completed': sessions.length, seconds };
	});
}
