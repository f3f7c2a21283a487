import { expect, test } from 'vitest';
import { createEventFeed, toSse } from '../../../src/core/chat/event.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';
import { userMessage } from '../../../src/core/chat/message.ts';
import { startRun } from '../../../src/core/chat/run.ts';
import { providers, type Tool } from '../../../src/core/index.ts';
import { calling, echo, echoCall, readTool } from './support.ts';

const text = { type: 'text', text: 'a' } as const;

test('a feed drops events after its end', async () => {
	const feed = createEventFeed();
	feed.attach();
	feed.add(text);
	feed.end({ type: 'cancelled' });
	feed.add(text);
	expect(await feed.take()).toEqual([text, { type: 'cancelled' }]);
	expect(await feed.take()).toBeUndefined();
});

test('a full feed makes its writer wait until release() is called', async () => {
	const feed = createEventFeed();
	feed.attach();
	for (let n = 0; n < 2_000; n++) feed.add(text);
	const room = feed.add(text);
	expect(room).toBeInstanceOf(Promise);
	feed.release();
	await room;
	await feed.take();
	for (let n = 0; n < 2_000; n++) expect(feed.add(text)).toBeUndefined();
});

/** Reads a run with one call of a tool. Returns the kinds of events in each batch. */
async function readTogether(tool: Tool | typeof echo, onBatch = (_: readonly string[]) => {}): Promise<string[][]> {
	const script = [{ text: 'I look.', ...calling(echoCall('a')) }, 'Seen.'];
	const options = { model: 'scripted', providers: [providers.scripted(script)], tools: [tool] };
	const take = startRun(options, [userMessage('Hello')]).read();
	const batches: string[][] = [];
	for (let batch = await take(); batch !== undefined; batch = await take()) {
		const kinds = batch.map(({ type }) => type);
		onBatch(kinds);
		batches.push(kinds);
	}
	return batches;
}

test('a feed emits the stop of a turn, immediate results, the step and the end of the run in one batch', async () => {
	const batches = await readTogether(echo);
	const together = batches.map((kinds) => kinds.join(' '));
	expect(together.find((kinds) => kinds.includes('stop'))).toContain('stop tool_result step');
	expect(together.at(-1)).toContain('stop step done');
});

test('a feed emits the end of a turn before the result of a slow tool', async () => {
	const released = Promise.withResolvers<void>();
	const slow = readTool('echo', () => released.promise.then(() => 'late'));
	const batches = await readTogether(slow, (kinds) => {
		if (kinds.includes('stop')) released.resolve();
	});
	expect(batches.find((kinds) => kinds.includes('stop'))).not.toContain('tool_result');
	expect(batches.flat()).toContain('tool_result');
});

/**
 * Reads events like a client that stores an id as soon as it reads the line, as `@microsoft/fetch-event-source` does.
 */
function read(text: string): { readonly shown: readonly string[]; readonly id: string | undefined } {
	const shown: string[] = [];
	let id: string | undefined;
	let data = '';
	for (const line of text.split('\n').slice(0, -1)) {
		if (line === '') shown.push(data);
		if (line.startsWith('data: ')) data = line.slice(6);
		if (line.startsWith('id: ')) id = line.slice(4);
	}
	return { shown, id };
}

test('a client that stores an id when it reads the id line misses no event, wherever the connection is cut', () => {
	const events: readonly RunEvent[] = ['One', 'Two', 'Three'].map((text) => ({ type: 'text', text }));
	const frames = events.map((event, index) => toSse(event, String(index)));
	const whole = read(frames.join('')).shown;
	expect(whole).toHaveLength(events.length);
	for (const [index, frame] of frames.entries()) {
		for (let cut = 0; cut < frame.length - 1; cut++) {
			const before = read(frames.slice(0, index).join('') + frame.slice(0, cut));
			const from = before.id === undefined ? 0 : Number(before.id) + 1;
			const after = read(frames.slice(from).join(''));
			expect([...before.shown, ...after.shown], `event ${index} cut behind ${cut} characters`).toEqual(whole);
		}
	}
});

test('an event without a position has no id', () => {
	expect(toSse({ type: 'text', text: 'One' })).toBe('event: text\ndata: {"type":"text","text":"One"}\n\n');
});
