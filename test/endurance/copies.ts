import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import { writeLines } from './large-session.ts';
import { oneReply } from './script.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** Half the heap of a Worker at Cloudflare. With a larger heap V8 collects garbage rarely. */
const heapMegabytes = 64;
/** The most memory of workerd above its memory after a small copy: two objects at Cloudflare, as a fork has two. */
const growth = 268_435_456;
/** The bytes of a part of an import. Cloudflare takes 100 MB in a request. */
const partBytes = 90_000_000;
/** Megabytes of the session that is copied before the idle memory is read. It loads and compiles all code. */
const warmUp = 8;
/** The pause between two readings of the memory or of the progress, in milliseconds. */
const sampleMs = 50;

const lineType = 'application/x-ndjson';
const session = v.object({ id: v.string() });
/** The answer to a part of an import. */
const answer = v.union([session, v.object({ offset: v.number() })]);
const withCursor = v.object({ cursor: v.string() });
const [newline, cursorStart, longestCursor] = [10, '{"cursor":', 8_192] as const;

/** An answer that is an error. A kill leaves a request without an answer. */
class Refused extends Error {}

/** What a copy took. */
interface Copied {
	readonly seconds: number;
	/** The highest memory of workerd, in bytes. */
	readonly memory: number;
	/** The longest wait of another request, in milliseconds. */
	readonly waitMs: number;
	readonly kills: number;
}

/** Kills the server when a copy has come to these bytes. */
type Kills = readonly number[];

/**
 * Exports a large session to a file, imports it in parts, and forks it, while SIGKILLs interrupt each copy, mostly in pairs.
 * Each copy goes on where it was, and has the content of the original. The memory of the server does not grow with the
 * session.
 */
export function copies({ count = 1_000, kills = 2, seed }: Options): Promise<Figures> {
	const world = { script: oneReply(40), pieceLength: 40, paceMs: 0, toolMs: 0, seed, heapMegabytes };
	return onStage(world, async (stage) => {
		const folder = await mkdtemp(join(tmpdir(), 'runlet-copies-'));
		try {
			const small = await fill(stage, folder, Math.min(count, warmUp));
			await copy(stage, { ...small, folder, kills: [] });
			const idle = stage.server.memory();
			const large = await fill(stage, folder, count);
			const { content, ...copied } = await copy(stage, {
				...large,
				folder,
				kills: choosePairs(stage, kills, large.bytes),
			});
			const all = { 'filling, by an import': large.filled, ...copied };
			for (const [what, { memory }] of Object.entries(all))
				if (memory - idle > growth)
					throw new Error(`${what}: the memory grew from ${toMegabytes(idle)} to ${toMegabytes(memory)}`);
			return {
				seed: stage.seed,
				'lines of the session, MB': (large.bytes / 1e6).toFixed(0),
				'messages, runs and files': large.records,
				'idle memory': toMegabytes(idle),
				...Object.fromEntries(Object.entries(all).map(([what, one]) => [what, describe(one)])),
				'content of all copies, SHA-256': content.slice(0, 16),
			};
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	});
}

const toMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

function describe({ seconds, memory, waitMs, kills }: Copied): string {
	const others = `others waited ${Math.round(waitMs)} ms at most`;
	return `${seconds.toFixed(1)} s, at most ${toMegabytes(memory)}, ${others}, kills: ${kills}`;
}

/** Chooses random places, in pairs that are close together: a copy is killed again soon after it went on. */
function choosePairs({ random }: Stage, kills: number, bytes: number): Kills {
	const places: number[] = [];
	while (places.length < kills) {
		const first = random(10, 85) / 100;
		places.push(first, first + random(1, 5) / 100);
	}
	return places
		.slice(0, kills)
		.toSorted((a, b) => a - b)
		.map((place) => place * bytes);
}

/** Creates a session with so many megabytes of lines. */
async function fill(stage: Stage, folder: string, megabytes: number) {
	const path = join(folder, 'filling.ndjson');
	const { bytes, records } = await writeLines(path, megabytes * 1e6, stage.random);
	const content = await hashContent(createReadStream(path));
	let id = '';
	const filled = await measure('fill', stage, [], async () => {
		id = await importParts(stage, path, () => {});
	});
	await rm(path);
	return { id, bytes, records, content, filled };
}

interface Large {
	readonly id: string;
	readonly content: string;
	readonly folder: string;
	readonly kills: Kills;
}

/** Makes all copies of a session, and compares them. */
async function copy(stage: Stage, { id, content, folder, kills }: Large) {
	const path = join(folder, 'exported.ndjson');
	const assertSame = (what: string, found: string): void => {
		if (found !== content) throw new Error(`${what} differs from the original`);
	};
	const exported = await measure('export', stage, kills, (note) => exportTo(stage, id, path, note));
	assertSame('the export', await hashContent(createReadStream(path)));
	let imported = '';
	const importing = await measure('import', stage, kills, async (note) => {
		imported = await importParts(stage, path, note);
	});
	await rm(path);
	assertSame('the import', await readContent(stage, imported));
	await ask(stage, `/${imported}`, { method: 'DELETE' });
	let forked = '';
	const forking = await measure('fork', stage, kills, async (note) => {
		forked = await fork(stage, id, note);
	});
	assertSame('the fork', await readContent(stage, forked));
	for (const one of [forked, id]) await ask(stage, `/${one}`, { method: 'DELETE' });
	return { export: exported, import: importing, fork: forking, content };
}

/** Measures a copy. The copy notes how many bytes it has done, and is killed at these places. */
async function measure(
	what: string,
	{ server }: Stage,
	kills: Kills,
	work: (note: (bytes: number) => void) => Promise<void>,
): Promise<Copied> {
	const left = [...kills];
	let done = 0;
	let memory = 0;
	let restarting = Promise.resolve();
	const sampling = setInterval(() => {
		memory = Math.max(memory, server.memory());
	}, sampleMs);
	const probing = probe(server);
	const begun = performance.now();
	try {
		await work((bytes) => {
			const [next] = left;
			if (next === undefined || bytes < next || !server.isUp) return;
			left.shift();
			done++;
			restarting = server.restart();
			restarting.catch(() => {});
		});
		await restarting;
	} finally {
		clearInterval(sampling);
	}
	const seconds = (performance.now() - begun) / 1_000;
	const waitMs = await probing();
	if (done === 0 && kills.length > 0) throw new Error('the kills came too late');
	const copied = { seconds, memory, waitMs, kills: done };
	// The long form takes minutes.
	console.error(`${what}: ${describe(copied)}`);
	return copied;
}

/** Sends one small request after the other. The returned function stops, and returns the longest wait in milliseconds. */
function probe(server: Stage['server']): () => Promise<number> {
	let isOver = false;
	let most = 0;
	const probing = (async () => {
		while (!isOver) {
			await server.up();
			const begun = performance.now();
			const isAnswered = await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } }).then(
				(response) => response.ok,
				() => false,
			);
			if (isAnswered) most = Math.max(most, performance.now() - begun);
			await pause(sampleMs);
		}
	})();
	return async () => {
		isOver = true;
		await probing;
		return most;
	};
}

/** Makes an attempt again after each kill that interrupts it. */
async function survive<T>({ server }: Stage, attempt: () => Promise<T>): Promise<T> {
	for (;;) {
		await server.up();
		const { lives } = server;
		try {
			return await attempt();
		} catch (cause) {
			if (cause instanceof Refused || (server.isUp && server.lives === lives)) throw cause;
		}
	}
}

async function ask({ server }: Stage, path: string, init: RequestInit = {}): Promise<Response> {
	const headers = new Headers(init.headers);
	// A killed server must not answer over a connection that was kept.
	headers.set('connection', 'close');
	const response = await fetch(`${server.url}/v1/sessions${path}`, { ...init, headers });
	if (!response.ok) throw new Refused(`${path}: ${response.status} ${await response.text()}`);
	return response;
}

/** Exports a session to a file as docs/sessions.md says, "Large sessions". */
async function exportTo(stage: Stage, id: string, path: string, note: (bytes: number) => void): Promise<void> {
	const file = await open(path, 'w');
	let [cursor, whole] = ['start', 0];
	try {
		await survive(stage, async () => {
			const { body } = await ask(stage, `/${id}/export?cursor=${cursor}`, { headers: { accept: lineType } });
			let at = whole;
			let line = Buffer.alloc(0);
			for await (const chunk of body ?? []) {
				await file.write(chunk, 0, chunk.length, at);
				for (let from = 0; from < chunk.length; ) {
					const end = chunk.indexOf(newline, from);
					const to = end === -1 ? chunk.length : end + 1;
					if (line.length < longestCursor) line = Buffer.concat([line, chunk.subarray(from, to)]);
					at += to - from;
					from = to;
					if (end === -1) break;
					const text = line.subarray(0, longestCursor).toString();
					if (text.startsWith(cursorStart)) [cursor, whole] = [v.parse(withCursor, JSON.parse(text)).cursor, at];
					line = Buffer.alloc(0);
				}
				note(at);
			}
			await file.truncate(at);
		});
	} finally {
		await file.close();
	}
}

/** Imports a file in parts as docs/sessions.md says, "Large sessions". Returns the id of the session. */
async function importParts(stage: Stage, path: string, note: (bytes: number) => void): Promise<string> {
	const key = randomUUID();
	const { size } = await stat(path);
	const send = async (range: string, body?: ReadableStream<Uint8Array>) => {
		const headers = { 'content-type': lineType, 'idempotency-key': key, 'content-range': `bytes ${range}/${size}` };
		const init = { method: 'POST', headers, body, duplex: 'half' };
		return v.parse(answer, await (await ask(stage, '/import', init)).json());
	};
	return survive(stage, async () => {
		for (let next = await send('*'); ; ) {
			if ('id' in next) return next.id;
			const from = next.offset;
			const end = Math.min(from + partBytes, size) - 1;
			const read = async function* () {
				let at = from;
				for await (const chunk of createReadStream(path, { start: from, end })) {
					at += chunk.length;
					note(at);
					yield chunk;
				}
			};
			next = await send(`${from}-${end}`, toStream(read()));
		}
	});
}

function toStream(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
	return new ReadableStream({
		pull: async (controller) => {
			const { done, value } = await chunks.next();
			if (done) controller.close();
			else controller.enqueue(value);
		},
		cancel: async () => void (await chunks.return(undefined)),
	});
}

/** Forks a session. Its progress is what the server has stored since then. Returns the id of the fork. */
async function fork(stage: Stage, id: string, note: (bytes: number) => void): Promise<string> {
	const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
	const before = await stage.server.stored();
	const over = new AbortController();
	const watch = async (): Promise<void> => {
		for (; !over.signal.aborted; await pause(sampleMs)) note((await stage.server.stored()) - before);
	};
	const watching = watch();
	try {
		const init = { method: 'POST', headers, body: '{}' };
		return await survive(stage, async () => v.parse(session, await (await ask(stage, `/${id}/fork`, init)).json()).id);
	} finally {
		over.abort();
		await watching;
	}
}

async function readContent(stage: Stage, id: string): Promise<string> {
	const { body } = await ask(stage, `/${id}/export`, { headers: { accept: lineType } });
	if (body === null) throw new Error('an export has no body');
	return hashContent(body);
}

const record = v.looseObject({
	run: v.optional(v.looseObject({ id: v.string(), status: v.string() })),
	file: v.optional(v.looseObject({ path: v.string(), at: v.number(), size: v.number(), base64: v.string() })),
	message: v.optional(v.looseObject({ id: v.string(), role: v.string(), content: v.unknown() })),
});

/** Hashes what all copies of a session have in common: all but their names, times, senders and cursors. */
async function hashContent(body: AsyncIterable<Uint8Array>): Promise<string> {
	const hash = createHash('sha256');
	for await (const text of createInterface({ input: Readable.from(body), crlfDelay: Infinity })) {
		const { run, file, message } = v.parse(record, JSON.parse(text));
		if (run !== undefined) hash.update(JSON.stringify([run.id, run.status]));
		if (file !== undefined) hash.update(JSON.stringify([file.path, file.at, file.size, file.base64]));
		if (message === undefined) continue;
		const { id, runId, role, content, toolCallId, toolCalls } = message;
		hash.update(JSON.stringify([id, runId, role, content, toolCallId, toolCalls]));
	}
	return hash.digest('hex');
}
