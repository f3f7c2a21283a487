import { setTimeout as pause } from 'node:timers/promises';
import { checkReading } from './history.ts';
import { type Reading, read } from './reader.ts';
import { oneReply } from './script.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** The speed of each slow reader, in bytes a second. */
const rate = 1_024;
/**
 * Half the heap of a Worker at Cloudflare. With a larger heap V8 collects garbage rarely, and the measured memory
 * would contain much garbage.
 */
const heapMegabytes = 64;
/** The most growth of the server's memory, in bytes. */
const growth = 64 * 1_024 * 1_024;
/** The pause between two readings of the memory, in milliseconds. */
const sampleMs = 100;
/** How long the slow readers are watched after the model's last byte, in milliseconds. */
const watchMs = 10_000;
/**
 * The number of replies with one reader before the comparison of memory. These replies grow the heap to its usual
 * size.
 */
const warmUps = 3;
/** The most replies with one reader after the slow readers leave: V8 collects garbage while it works. */
const coolDowns = 10;
const writer = { agent: 'writer' };

/**
 * Many slow readers read one long reply. The server's memory stays limited meanwhile, and the model's stream ends although
 * the readers are at its start. At full speed each reader then gets the whole reply, and the memory is freed after they
 * leave.
 */
export function slow({ count = 50, size = 5_000_000, seed }: Options): Promise<Figures> {
	const world = { script: oneReply(size), pieceLength: 2_000, paceMs: 1, toolMs: 0, seed, heapMegabytes };
	return onStage(world, async (stage) => {
		const { server, seed } = stage;
		let aloneMs = 0;
		const warmingUp = sampleMemory(server);
		for (let n = 0; n < warmUps; n++) aloneMs = await alone(stage, `alone-${n}`);
		// Compares the maximum with one reader and the maximum with many readers, because the heap grows and shrinks by itself.
		const before = warmingUp();
		const { modelMs, readAtMost, memory, atFullSpeed } = await withSlowReaders(stage, count, size);
		let afterwards = server.memory();
		for (let n = 0; n < coolDowns && afterwards - before > growth; n++) {
			await alone(stage, `after-${n}`);
			afterwards = server.memory();
		}
		const most = Math.max(memory, afterwards);
		if (most - before > growth)
			throw new Error(`memory grew from ${megabytes(before)} to ${megabytes(memory)}, then ${megabytes(afterwards)}`);
		return {
			seed,
			'slow readers': count,
			'reply, characters': size,
			'most that a slow reader had when the model had ended, bytes': readAtMost,
			"the model's stream with one fast reader, ms": Math.round(aloneMs),
			"the model's stream with slow readers, ms": Math.round(modelMs),
			ratio: (modelMs / aloneMs).toFixed(2),
			'memory before': megabytes(before),
			'memory with slow readers, at most': megabytes(memory),
			'memory while all of them read to the end, at most': megabytes(atFullSpeed),
			'memory after they left': megabytes(afterwards),
		};
	});
}

/** How long the model takes to send its reply to one fast reader, in milliseconds. */
async function alone({ client, outside }: Stage, tag: string): Promise<number> {
	const { session, response } = await client.stream(tag, writer);
	await read(client, session, { first: response });
	return readMs(outside, tag);
}

async function withSlowReaders({ client, server, outside }: Stage, count: number, size: number) {
	const tag = 'slow';
	const released = new AbortController();
	const taken = new Array<number>(count).fill(0);
	const session = await client.begin(tag, writer);
	const readings = taken.map((_, n): Promise<Reading> => {
		const pace = async (bytes: number): Promise<void> => {
			taken[n] = (taken[n] ?? 0) + bytes;
			await pause((1_000 * bytes) / rate, undefined, { signal: released.signal }).catch(() => {});
		};
		return read(client, session, { pace });
	});
	const reading = sampleMemory(server);
	await outside.upstream.final(tag);
	const readAtMost = Math.max(...taken);
	if (readAtMost > size / 2) throw new Error(`a slow reader had ${readAtMost} bytes when the model had ended`);
	await pause(watchMs);
	const memory = reading();
	const leaving = sampleMemory(server);
	released.abort();
	const all = await Promise.all(readings);
	const atFullSpeed = leaving();
	const messages = await client.history(session);
	for (const { transcript } of all) checkReading(tag, transcript, messages);
	return { modelMs: readMs(outside, tag), readAtMost, memory, atFullSpeed };
}

/** Samples the memory of a server. The returned function stops, and returns the maximum in bytes. */
function sampleMemory(server: Stage['server']): () => number {
	let most = server.memory();
	const sampling = setInterval(() => {
		most = Math.max(most, server.memory());
	}, sampleMs);
	return () => {
		clearInterval(sampling);
		return most;
	};
}

function readMs({ upstream }: Stage['outside'], tag: string): number {
	return upstream.asks.find((ask) => ask.tag === tag)?.ms ?? Number.NaN;
}

function megabytes(bytes: number): string {
	return `${(bytes / 1_048_576).toFixed(0)} MiB`;
}
