import { checkReading } from './history.ts';
import { type Reading, read } from './reader.ts';
import { threeTools } from './script.ts';
import { outcomes, type Sent, untilQuiet } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** The writes of a run (hardening.md), and how often one with three tools makes each. */
const points = [
	['accepted', 1],
	['model-begin', 3],
	['draft', 1],
	['model-end', 3],
	['tool-begin', 4],
	['tool-end', 4],
	['ended', 1],
] as const;

/** Two runs under one crash: one that nobody asks for, one whose reader comes back. */
interface Pair {
	readonly sent: readonly Sent[];
	readonly read: { readonly tag: string; readonly session: string; readonly reading: Reading };
}

/**
 * A crash right after each write of a run, in both forms: a SIGKILL once the write is durable, and the loss of the object
 * before it is. The marks are those of `kills`; and a reader that comes back hears that a turn was restarted before it
 * gets the turn's new text.
 */
export function crashPoints({ count = 20, seed }: Options): Promise<Figures> {
	// A turn takes longer than a draft waits to be stored.
	const world = { script: threeTools(1_000), pieceLength: 10, paceMs: 15, toolMs: 50, seed, retries: 5 };
	return onStage(world, async (stage) => {
		const figures: Record<string, number | string> = {
			seed: stage.seed,
			'crashes at each point': `${count} + ${count}`,
		};
		for (const [name, times] of points) {
			await stage.server.restart({ CRASH: 'ask' });
			const killed: Promise<Pair>[] = [];
			for (let n = 0; n < count; n++) killed.push((await killAt(stage, name, times, `${name}-kill-${n}`)).runs);
			const afterKills = await settle(stage, killed);
			// Not the first time, where everything since the request would be lost, and the request be sent again.
			await stage.server.restart({ CRASH: 'abort', CRASH_POINT: name, CRASH_TIME: String(Math.min(2, times)) });
			const lost = Array.from({ length: count }, (_, n) => pair(stage, `${name}-abort-${n}`));
			const afterLosses = await settle(stage, lost);
			figures[name] = `${afterKills}; aborted: ${afterLosses}`;
		}
		return figures;
	});
}

/** Begins two runs and kills the server when one of those under way comes to the point; gives the two on their way. */
async function killAt(stage: Stage, name: string, times: number, tag: string) {
	const { outside, server, random } = stage;
	const reached = Promise.withResolvers<void>();
	const dead = Promise.withResolvers<void>();
	let left = random(1, 2 * times);
	outside.atPoint(async ({ point }) => {
		if (point !== name || --left !== 0) return;
		reached.resolve();
		await dead.promise;
	});
	const runs = pair(stage, tag);
	const missed = runs.then(() => {
		throw new Error(`${tag}: the runs ended, and the point was not reached`);
	});
	await Promise.race([reached.promise, missed]);
	missed.catch(() => {});
	await server.restart({ CRASH: 'ask' });
	outside.atPoint(() => {});
	dead.resolve();
	return { runs };
}

async function pair({ client }: Stage, tag: string): Promise<Pair> {
	const [alone, followed] = [`${tag}-alone`, `${tag}-followed`];
	const readToTheEnd = async () => {
		const { session, response } = await client.stream(followed);
		return { tag: followed, session, reading: await read(client, session, { first: response }) };
	};
	const [session, one] = await Promise.all([client.begin(alone), readToTheEnd()]);
	return { sent: [{ tag: alone, session }, one], read: one };
}

/** Lets all runs end, checks them, and says what became of them. */
async function settle(stage: Stage, pairs: readonly Promise<Pair>[]): Promise<string> {
	const { client } = stage;
	const done = await Promise.all(pairs);
	const sent = done.flatMap((one) => one.sent);
	await untilQuiet(stage, sent);
	const { completed, interrupted } = await outcomes(stage, sent);
	let restarted = 0;
	for (const { tag, session, reading } of done.map((one) => one.read)) {
		checkReading(tag, reading.transcript, await client.history(session));
		restarted += reading.transcript.restarted;
	}
	let takenUp = 0;
	for (const { tag, session } of sent) {
		const { transcript } = await read(client, session);
		checkReading(tag, transcript, await client.history(session));
		if (transcript.attempt > 1) takenUp++;
	}
	return `${completed} completed, ${interrupted} out of attempts; ${takenUp} taken up, ${restarted} turns restarted`;
}
