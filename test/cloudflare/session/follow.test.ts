import { expect, onTestFinished, test, vi } from 'vitest';
import { follow } from '../../../src/cloudflare/session/events/follow.ts';
import { RunLog } from '../../../src/cloudflare/session/events/log.ts';
import { toSse } from '../../../src/core/chat/event.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';

const text = 'Ünïcödé 🎈 '.repeat(30_000);
const step = { type: 'step', iteration: 1, model: 'm', text, toolCalls: [], toolResults: [], usage: {} } as const;

/** A finished run with a long reply, and a count of how often its step was written. */
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

function toText(chunks: readonly Uint8Array[]): string {
	const decoder = new TextDecoder();
	return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('');
}

test('a reader gets a large event whole, in pieces of at most 64 KB', async () => {
	const chunks = await readChunks(follow(longRun().log));
	expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
	const events = toText(chunks)
		.split('\n\n')
		.flatMap((block) => /^data: (.*)$/m.exec(block)?.[1] ?? []);
	const read = events.map((data): { type: string; text?: string } => JSON.parse(data));
	expect(read.flatMap((event) => (event.type === 'text' ? (event.text ?? '') : [])).join('')).toBe(text);
	expect(read.slice(-2)).toMatchObject([
		{ type: 'step', text },
		{ type: 'done', text },
	]);
});

test('many readers of a large event share its bytes', async () => {
	const { log, written } = longRun();
	const all = await Promise.all(Array.from({ length: 20 }, () => readChunks(follow(log))));
	expect(written()).toBe(1);
	expect(new Set(all.map((chunks) => chunks.reduce((sum, { length }) => sum + length, 0))).size).toBe(1);
});

test('the readers of a crowd share the bytes of a text, and each gets it whole', async () => {
	const encode = vi.spyOn(TextEncoder.prototype, 'encode');
	onTestFinished(() => encode.mockRestore());
	const log = new RunLog(1, [{ type: 'run.started', runId: 'r', attempt: 1 }], 0);
	const all = Array.from({ length: 60 }, () => readChunks(follow(log)));
	for (const event of [{ type: 'text', text: 'Hello.' } as const, { type: 'done', text: '', usage: {} } as const]) {
		await new Promise((resolve) => setTimeout(resolve, 0));
		log.append([event]);
	}
	const chunks = await Promise.all(all);
	const texts = chunks.map(toText);
	expect(new Set(texts).size).toBe(1);
	expect(texts[0]).toContain('"text":"Hello."');
	expect(new Set(chunks.flat().filter((chunk) => toText([chunk]).includes('Hello.')))).toHaveProperty('size', 1);
	expect(encode.mock.calls.filter(([text]) => text?.includes('Hello.'))).toHaveLength(1);
});

test('a reader that stops reading gets what it has missed in a few pieces', async () => {
	const log = new RunLog(1, [{ type: 'run.started', runId: 'r', attempt: 1 }]);
	const reader = follow(log).getReader();
	await reader.read();
	for (let n = 0; n < 100; n++) {
		log.append([{ type: 'text', text: `${n} ` }]);
		await new Promise((resolve) => setTimeout(resolve, 0));
	}
	log.append([{ type: 'done', text: '', usage: {} }]);
	const chunks: Uint8Array[] = [];
	for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read())
		if (value !== undefined) chunks.push(value);
	expect(toText(chunks)).toContain('98 99 ');
	expect(chunks.length).toBeLessThanOrEqual(3);
});

test('a reader gets the text behind a long reasoning that its protocol skips', async () => {
	const log = new RunLog(1, [
		{ type: 'reasoning', text: 'Hm. '.repeat(50_000) },
		{ type: 'text', text: 'Hello.' },
	]);
	const event = (one: RunEvent) => (one.type === 'reasoning' ? '' : toSse(one));
	const reader = follow(log, undefined, { writer: () => ({ event, end: () => '' }) }).getReader();
	const { value = new Uint8Array() } = await reader.read();
	expect(toText([value])).toContain('Hello.');
	await reader.cancel();
});

test('keeps a large event for other readers when one reader leaves', async () => {
	const { log } = longRun();
	const reader = follow(log).getReader();
	await reader.read();
	await reader.read();
	await reader.cancel();
	const [first, second] = await Promise.all([readChunks(follow(log)), readChunks(follow(log))]);
	expect(toText(first)).toBe(toText(second));
});

test('ends the streams of the readers if the end of their run cannot be stored', async () => {
	const log = new RunLog(1, [
		{ type: 'run.started', runId: 'r', attempt: 1 },
		{ type: 'text', text: 'so far' },
	]);
	const [early, late] = [readChunks(follow(log)), Promise.resolve().then(() => readChunks(follow(log)))];
	await Promise.resolve();
	log.leave();
	for (const chunks of [await early, await late, await readChunks(follow(log))]) {
		const read = toText(chunks);
		expect(read).toContain('so far');
		expect(read).not.toMatch(/event: (done|error|cancelled)/);
	}
});

/** A reader on a stopped clock, and its new bytes. */
function followSlowly() {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const log = new RunLog(1, [{ type: 'run.started', runId: 'r', attempt: 1 }]);
	const reader = follow(log).getReader();
	let sent: Uint8Array[] = [];
	const drained = (async () => {
		for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read())
			if (value !== undefined) sent.push(value);
	})();
	const takeSent = (): string => {
		const text = toText(sent);
		sent = [];
		return text;
	};
	return { log, reader, drained, takeSent };
}

test('sends a comment after every 15 s without an event', async () => {
	const { log, reader, takeSent } = followSlowly();
	await vi.advanceTimersByTimeAsync(10_000);
	expect(takeSent()).toContain('event: run.started');
	log.append([{ type: 'text', text: 'hello' }]);
	await vi.advanceTimersByTimeAsync(14_999);
	expect(takeSent()).toMatch(/^event: text\ndata: .*\nid: .*\n\n$/);
	await vi.advanceTimersByTimeAsync(1);
	expect(takeSent()).toBe(': keep-alive\n\n');
	await vi.advanceTimersByTimeAsync(15_000);
	expect(takeSent()).toBe(': keep-alive\n\n');
	await reader.cancel();
});

/** The number of timers on the stopped clock, with the timer of this function. */
function countTimers(): number {
	const timer = setTimeout(() => {});
	clearTimeout(timer);
	return Number(timer);
}

test('a reader has one timer for all its waits, and the timer ends with the reader', async () => {
	const first = followSlowly();
	const before = countTimers();
	for (let n = 0; n < 100; n++) {
		first.log.append([{ type: 'text', text: `${n} ` }]);
		await vi.advanceTimersByTimeAsync(10);
	}
	expect(first.takeSent().match(/event: text/g)).toHaveLength(100);
	expect(countTimers() - before).toBe(2);
	first.log.append([{ type: 'done', text: '', usage: {} }]);
	await first.drained;
	expect(vi.getTimerCount()).toBe(0);
	const second = followSlowly();
	await vi.advanceTimersByTimeAsync(10);
	expect(vi.getTimerCount()).toBe(1);
	await second.reader.cancel();
	expect(vi.getTimerCount()).toBe(0);
});
