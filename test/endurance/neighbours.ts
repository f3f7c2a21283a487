import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import * as v from 'valibot';
import { createClient } from './client.ts';
import { createKeys, materialFrom } from './fuzz.ts';
import { fuzzedRequest } from './fuzz-request.ts';
import { hostileFiles, hostilePage, listHostileCalls } from './hostile.ts';
import { createRandom, createSeed } from './random.ts';
import { sendRaw } from './raw-http.ts';
import type { Answer, Asked, Call } from './script.ts';
import type { Server } from './server.ts';
import { type Figures, type Options, onStage } from './stage.ts';

/** The number of the hostile tenant's sessions. Each session makes one call after another. */
const lanes = 3;
/** Calls between two uploads of a large file. */
const uploadEvery = 20;
/** The longest time for a request of the neighbour or a hostile call, in milliseconds. */
const patienceMs = 240_000;
/** The pause between two checks, in milliseconds. */
const lookMs = 50;
/** The hostile calls and the fuzzed request that are open. The error of a failed look names them. */
const open = new Set<string>();
/** The longest delay of other requests in the long form, in seconds of processor time. */
const mostHeldUp = 0.25;

/**
 * One tenant runs the most expensive calls of every tool on the largest texts, and sends fuzzed requests to every route.
 * Requests of another tenant run beside it. No request of the other tenant fails, and each hostile call ends with its
 * result.
 *
 * @param options.count seconds; each hostile call is made at least once. The limit of the long form holds only for the
 * default.
 */
export async function neighbours({ count, seed = createSeed() }: Options): Promise<Figures> {
	const keys = await createKeys(['hostile', 'neighbour']);
	let calls: readonly Omit<Call, 'id'>[] = [];
	const script = (asked: Asked): Answer => answer(asked, calls);
	const variables = { API_KEYS: keys.records, SESSION_BUDGET_TOKENS: 'none', DAY_BUDGET_TOKENS: 'none' };
	const world = { script, pieceLength: 20_000, paceMs: 0, toolMs: 0, seed, variables, page: hostilePage };
	return onStage(world, async ({ server, outside }) => {
		calls = listHostileCalls(`${outside.url}/page`);
		let made = 0;
		const isOver = (): boolean => made >= calls.length && performance.now() - begun >= 1_000 * (count ?? 60);
		const hostileKey = keys.of.hostile ?? '';
		const sessions = await openSessions(server, hostileKey);
		const begun = performance.now();
		const hostile = sessions.map((session, lane) =>
			attack(server, hostileKey, { session, lane, next: () => (isOver() ? undefined : made++) }),
		);
		let isDone = false;
		const end = Promise.withResolvers<void>();
		const stop = (): void => {
			isDone = true;
			end.resolve();
		};
		const key = keys.of.neighbour ?? '';
		const beside = Promise.all([
			watch(server, end.promise),
			converse(server, key, () => isDone),
			fuzzRoutes(server, hostileKey, { seed, isOver: () => isDone }),
		]);
		const ended = await Promise.race([Promise.all(hostile), beside.then(() => [])]).finally(stop);
		const [held, runs, fuzzed] = await beside;
		if (count === undefined && held.cpu > mostHeldUp)
			throw new Error(`a request was held up for ${held.cpu.toFixed(2)} s of the processor`);
		return {
			seed,
			'hostile calls that ended with their result': ended.reduce((sum, one) => sum + one, 0),
			'hostile requests to routes': fuzzed,
			'runs of the neighbour': runs,
			'looks of the neighbour at /healthz': held.looks,
			'requests of the neighbour that failed': 0,
			'the longest look, seconds': held.seconds.toFixed(2),
			'the most that the server computed during a look, seconds': held.cpu.toFixed(2),
		};
	});
}

/** Makes one call for a message `hostile CALL …`, and answers all other messages. */
function answer({ tag, turn }: Asked, calls: readonly Omit<Call, 'id'>[]): Answer {
	const [, number] = /^hostile (\d+) /.exec(tag) ?? [];
	const call = number === undefined ? undefined : calls[Number(number) % calls.length];
	return { text: 'So.', calls: turn === 0 && call !== undefined ? [{ ...call, id: 'c' }] : [] };
}

/**
 * Creates a session with its files for each lane. Uploads run one after another, because the local bucket works in the
 * thread of the Worker, unlike a deployed bucket.
 */
async function openSessions(server: Server, key: string): Promise<readonly string[]> {
	const client = createClient(server, 0, key);
	const sessions: string[] = [];
	for (let lane = 0; lane < lanes; lane++) {
		const session = await client.create('hostile');
		for (const [path, text] of Object.entries(hostileFiles)) await client.putFile(session, path, text);
		sessions.push(session);
	}
	return sessions;
}

interface Attack {
	readonly session: string;
	readonly lane: number;
	/** The number of the next call, or `undefined` at the end. */
	readonly next: () => number | undefined;
}

/** Makes the calls, each in its own run, and uploads a large file now and then. Returns the number of results. */
async function attack(server: Server, key: string, { session, lane, next }: Attack): Promise<number> {
	const client = createClient(server, 0, key);
	let ended = 0;
	for (let number = next(); number !== undefined; number = next()) {
		const name = `call ${number}`;
		open.add(name);
		await client.send(session, `hostile ${number} of lane ${lane}`);
		const late = performance.now() + patienceMs;
		for (;;) {
			const { status, error } = await client.state(session);
			if (status === 'completed') break;
			if (status !== 'running' || performance.now() > late)
				throw new Error(`hostile call ${number}: the run is ${status} (${error?.message})`);
			await pause(lookMs);
		}
		const messages = await client.history(session);
		if (messages.at(-2)?.role !== 'tool') throw new Error(`hostile call ${number} has no result`);
		ended++;
		open.delete(name);
		if (number % uploadEvery === 0) await client.putFile(session, 'unlike.txt', hostileFiles['unlike.txt'] ?? '');
	}
	return ended;
}

const heldUp = v.object({ looks: v.number(), seconds: v.number(), cpu: v.number() });

/** Polls `/healthz` in a thread of its own. Rejects if a request fails. */
async function watch({ url, process }: Server, isOver: Promise<void>): Promise<v.InferOutput<typeof heldUp>> {
	const thread = new Worker(new URL('./looks.ts', import.meta.url), { workerData: { url, process } });
	isOver.then(() => thread.postMessage('end'));
	try {
		const [held] = await once(thread, 'message');
		return v.parse(heldUp, held);
	} catch (cause) {
		throw new Error(`a look failed, while these were open: ${[...open].join('; ')}`, { cause });
	}
}

/** Runs an agent again and again, and reads the results. Throws at any failure. Returns the number of completed runs. */
async function converse(server: Server, key: string, isOver: () => boolean): Promise<number> {
	const client = createClient(server, 0, key);
	let runs = 0;
	while (!isOver()) {
		const session = await client.begin(`neighbour ${runs}`, { agent: 'hostile' });
		await client.putFile(session, 'a.txt', 'mine');
		for (let status = 'running'; status === 'running'; { status } = await client.state(session)) await pause(lookMs);
		const { status } = await client.state(session);
		if (status !== 'completed') throw new Error(`a run of the neighbour is ${status}`);
		if ((await client.readFile(session, 'a.txt')) !== 'mine') throw new Error('a file of the neighbour is another one');
		await client.usage();
		runs++;
	}
	return runs;
}

interface Fuzzing {
	readonly seed: number;
	readonly isOver: () => boolean;
}

/** Sends fuzzed requests of the hostile tenant to all routes. `fuzz` checks the answers. */
async function fuzzRoutes(server: Server, key: string, { seed, isOver }: Fuzzing): Promise<number> {
	const material = await materialFrom(server, { run: key, admin: key });
	let sent = 0;
	for (; !isOver(); sent++) {
		const request = fuzzedRequest(createRandom(seed * 1_000_003 + sent), material);
		const name = `request ${sent}: ${request.head.slice(0, 200).replace(/\s+/g, ' ')}`;
		open.add(name);
		await sendRaw(server.url, request, patienceMs).catch(() => undefined);
		open.delete(name);
	}
	return sent;
}
