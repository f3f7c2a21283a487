import { checkReading } from './history.ts';
import { readUnderKills } from './killing.ts';
import { read } from './reader.ts';
import { threeTools } from './script.ts';
import { checkAttempts } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/**
 * Cuts the connections of readers at random bytes, and kills the server meanwhile. Each reader gets exactly the stored
 * bytes, with no gap and no repeated event, during the run and after it.
 */
export function cuts({ count = 500, kills = 20, seed }: Options): Promise<Figures> {
	const world = { script: threeTools(600), pieceLength: 12, paceMs: 10, toolMs: 20, seed };
	return onStage(world, async (stage) => {
		const total = { cuts: 0, runs: 0, events: 0, restarted: 0, unfinished: 0 };
		await readUnderKills(stage, { count, kills }, async (place) => {
			const one = await readTwice(stage, `run-${place}`);
			for (const key of ['cuts', 'runs', 'events', 'restarted', 'unfinished'] as const) total[key] += one[key];
			return one.cuts;
		});
		return {
			seed: stage.seed,
			'reader cuts': total.cuts,
			restarts: kills,
			'runs read': total.runs,
			'runs out of attempts': total.unfinished,
			'events read': total.events,
			'turns restarted': total.restarted,
		};
	});
}

/** Reads a run with cuts, during the run and after its end. */
async function readTwice({ client, random }: Stage, tag: string) {
	const cutAfter = () => random(1, 4_000);
	const { session, response } = await client.stream(tag);
	const live = await read(client, session, { first: response, cutAfter });
	const past = await read(client, session, { cutAfter });
	const messages = await client.history(session);
	for (const { transcript } of [live, past]) {
		const { end } = transcript;
		if (end?.type !== 'done' && end?.code !== 'interrupted')
			throw new Error(`${tag}: ended as ${end?.code ?? end?.type}`);
		checkReading(tag, transcript, messages);
	}
	checkAttempts(tag, past.transcript);
	return {
		cuts: live.cuts + past.cuts,
		runs: 1,
		events: live.transcript.events + past.transcript.events,
		restarted: live.transcript.restarted,
		unfinished: live.transcript.end?.type === 'done' ? 0 : 1,
	};
}
