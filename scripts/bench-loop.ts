/**
 * The first part of `npm run bench`: measures what a delta costs from a provider to a reader. The baseline is a loop
 * that only writes the event's bytes. The ratios compare within one run; the microseconds depend on the machine.
 */

import { follow } from '../src/cloudflare/session/events/follow.ts';
import { RunLog } from '../src/cloudflare/session/events/log.ts';
import { startRun } from '../src/core/chat/run.ts';
import { toSse } from '../src/core/chat/sse.ts';
import { type ChatStreamFn, chat } from '../src/core/index.ts';

const deltas = 20_000;
const delta = { type: 'text', text: 'hello ' } as const;
const rounds = 5;
const nextChunk = () => new Promise((resolve) => setImmediate(resolve));

/** A model that sends `perChunk` deltas in one network chunk. */
const model =
	(perChunk: number): ChatStreamFn =>
	async (_model, _messages, _system, _tools, onDelta) => {
		for (let n = 0; n < deltas; n++) {
			const full = onDelta(delta);
			if (full !== undefined) await full;
			if (n % perChunk === 0) await nextChunk();
		}
		return { text: '', stopReason: 'end_turn' };
	};

async function byHand(perChunk: number): Promise<void> {
	const encoder = new TextEncoder();
	for (let n = 0; n < deltas; n++) {
		encoder.encode(toSse(delta));
		if (n % perChunk === 0) await nextChunk();
	}
}

async function throughTheLoop(perChunk: number): Promise<void> {
	await drain(chat.run({ model: 'bench', chatStreamFn: model(perChunk) }, []).toStream());
}

async function throughASession(perChunk: number): Promise<void> {
	const log = new RunLog(1);
	const reader = drain(follow(log));
	for await (const batch of startRun({ model: 'bench', chatStreamFn: model(perChunk) }, []).batches())
		log.append(batch);
	await reader;
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
	const reader = stream.getReader();
	while (!(await reader.read()).done);
}

/** Returns the processor time of a delta in microseconds: the best of several rounds. */
async function measureCost(work: (perChunk: number) => Promise<void>, perChunk: number): Promise<number> {
	let least = Number.POSITIVE_INFINITY;
	for (let round = 0; round < rounds; round++) {
		const before = process.cpuUsage();
		await work(perChunk);
		const { user, system } = process.cpuUsage(before);
		least = Math.min(least, (user + system) / deltas);
	}
	return least;
}

for (const perChunk of [1, 8, 64]) {
	const hand = await measureCost(byHand, perChunk);
	const say = (what: number) => `${what.toFixed(2)} µs (${(what / hand).toFixed(1)}x)`;
	const [loop, session] = [await measureCost(throughTheLoop, perChunk), await measureCost(throughASession, perChunk)];
	console.log(
		`${perChunk} deltas a chunk: by hand ${hand.toFixed(2)} µs, chat.run ${say(loop)}, with a session's log ${say(session)}`,
	);
}
