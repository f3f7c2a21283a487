import { expect, test } from 'vitest';
import { follow } from '../../../src/cloudflare/session/events/follow.ts';
import { RunLog } from '../../../src/cloudflare/session/events/log.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';

const text = 'Ünïcödé 🎈 '.repeat(30_000);
const step = { type: 'step', iteration: 1, model: 'm', text, toolCalls: [], toolResults: [], usage: {} } as const;

/** A run that is over, with a long reply, and how often its step was written. */
function longRun() {
	let written = 0;
	const counted: RunEvent = Object.assign(
		{ ...step, stopReason: 'end_turn' },
		{
			toJSON: () => {
				written++;
				return step;
			},
		},
	);
	const log = new RunLog(1, [
		{ type: 'run.started', runId: 'r', attempt: 1 },
		{ type: 'text', text },
		{ type: 'stop', reason: 'end_turn', usage: {} },
		counted,
		{ type: 'done', text, usage: {} },
	]);
	return { log, written: () => written };
}

async function readChunks(stream: ReadableStream<Uint8Array>): Promise<Uint8Array[]> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of stream) chunks.push(chunk);
	return chunks;
}

test('a reader takes a large event in pieces, and holds no more of it than it has asked for', async () => {
	const chunks = await readChunks(follow(longRun().log));
	expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
	const decoder = new TextDecoder();
	const all = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('');
	const events = all.split('\n\n').flatMap((block) => /^data: (.*)$/m.exec(block)?.[1] ?? []);
	const read = events.map((data): { type: string; text?: string } => JSON.parse(data));
	expect(read.flatMap((event) => (event.type === 'text' ? (event.text ?? '') : [])).join('')).toBe(text);
	expect(read.slice(-2)).toMatchObject([
		{ type: 'step', text },
		{ type: 'done', text },
	]);
});

test('many readers of one large event share what is written of it', async () => {
	const { log, written } = longRun();
	const all = await Promise.all(Array.from({ length: 20 }, () => readChunks(follow(log))));
	expect(written()).toBe(1);
	expect(new Set(all.map((chunks) => chunks.reduce((sum, { length }) => sum + length, 0))).size).toBe(1);
});

test('a reader that leaves in the middle of a large event leaves the others theirs', async () => {
	const { log } = longRun();
	const reader = follow(log).getReader();
	await reader.read();
	await reader.read();
	await reader.cancel();
	const [first, second] = await Promise.all([readChunks(follow(log)), readChunks(follow(log))]);
	expect(first).toEqual(second);
});

test('a reader of a run whose end could not be stored is let go, without an end', async () => {
	const log = new RunLog(1, [
		{ type: 'run.started', runId: 'r', attempt: 1 },
		{ type: 'text', text: 'so far' },
	]);
	const [early, late] = [readChunks(follow(log)), Promise.resolve().then(() => readChunks(follow(log)))];
	await Promise.resolve();
	log.leave();
	for (const chunks of [await early, await late, await readChunks(follow(log))]) {
		const read = chunks.map((chunk) => new TextDecoder().decode(chunk)).join('');
		expect(read).toContain('so far');
		expect(read).not.toMatch(/event: (done|error|cancelled)/);
	}
});
