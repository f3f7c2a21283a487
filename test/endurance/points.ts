import { type CrashPoint, crashPoints, readAbortPoint } from './crash-points.ts';
import { checkReading } from './history.ts';
import { createSeed } from './random.ts';
import { type Reading, read } from './reader.ts';
import { threeTools } from './script.ts';
import { outcomes, type Sent, untilQuiet } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** Two runs under one crash: the first has no reader, and the reader of the second reconnects. */
interface Pair {
	readonly sent: readonly Sent[];
	readonly read: { readonly tag: string; readonly session: string; readonly reading: Reading };
}

/**
 * Crashes after each write of a run, in two ways: a SIGKILL after the write is durable, and an abort of the object
 * before the write is durable. It makes the same checks as `kills`. A reader that reconnects also gets an event
 * about the restarted turn before the turn's new text. Three servers share the points.
 */
export async function points({ count = 20, seed = createSeed() }: Options): Promise<Figures> {
	// A turn lasts longer than the pause before its first draft is stored.
	const world = { script: threeTools(1_000), pieceLength: 10, paceMs: 15, toolMs: 50, seed, retries: 5 };
	const half = Math.ceil(crashPoints.length / 2);
	const figures = await Promise.all([
		onStage(world, (stage) => killAtEach(stage, crashPoints.slice(0, half), count)),
		onStage(world, (stage) => killAtEach(stage, crashPoints.slice(half), count)),
		onStage(world, (stage) => abortAtEach(stage, count)),
	]);
	return Object.assign({ seed, 'kills at each point': count }, ...figures);
}

/** Kills the server `count` times at each crash point. */
async function killAtEach(stage: Stage, points: readonly CrashPoint[], count: number): Promise<Figures> {
	const figures: Record<string, string> = {};
	await stage.server.restart({ CRASH: 'ask' });
	for (const [name, times] of points) {
		const killed: Promise<Pair>[] = [];
		for (let n = 0; n < count; n++) killed.push((await killAt(stage, name, times, `${name}-kill-${n}`)).runs);
		figures[name] = await settle(stage, await Promise.all(killed));
	}
	return figures;
}

/** Aborts objects until each crash point has `count` aborts. */
async function abortAtEach(stage: Stage, count: number): Promise<Figures> {
	await stage.server.restart({ CRASH: 'abort' });
	const lost: Pair[] = [];
	let each: readonly (readonly [name: string, sessions: number])[] = [];
	do {
		const begun = lost.length;
		const pairs = crashPoints.map((_, n) => pair(stage, `abort-${begun + n}`));
		lost.push(...(await Promise.all(pairs)));
		const at = lost.flatMap(({ sent }) => sent).map(({ session }) => readAbortPoint(session).name);
		each = crashPoints.map(([name]) => [name, at.filter((one) => one === name).length]);
	} while (each.some(([, sessions]) => sessions < count));
	return {
		'objects aborted at': each.map((one) => one.join(' ')).join(', '),
		'of those': await settle(stage, lost),
	};
}

/** Begins two runs, and kills the server when a run under way reaches the point. Returns the two runs. */
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
	// The run without a reader may still be under way.
	const missed = runs.then(async ({ sent }) => {
		await untilQuiet(stage, sent);
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

/** Waits for the end of all runs, checks them, and returns their outcomes. */
async function settle(stage: Stage, done: readonly Pair[]): Promise<string> {
	const { client } = stage;
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
