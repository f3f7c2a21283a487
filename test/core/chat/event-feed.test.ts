import { expect, test } from 'vitest';
import { createEventFeed } from '../../../src/core/chat/event-feed.ts';
import { userMessage } from '../../../src/core/chat/message.ts';
import { startRun } from '../../../src/core/chat/run.ts';
import { providers, type Tool } from '../../../src/core/index.ts';
import { calling, echo, echoCall, readTool } from './support.ts';

const text = { type: 'text', text: 'a' } as const;

test('nothing comes after the end of a feed', async () => {
	const feed = createEventFeed();
	feed.attach();
	feed.add(text);
	feed.end({ type: 'cancelled' });
	feed.add(text);
	expect(await feed.take()).toEqual([text, { type: 'cancelled' }]);
	expect(await feed.take()).toBeUndefined();
});

test('a feed waits for its reader until it is released', async () => {
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

/** Reads a run with one call of a tool, and returns the kinds of events that its reader gets together. */
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

test('what follows the end of a turn at once comes with it: results, the step, the end of the run', async () => {
	const batches = await readTogether(echo);
	const together = batches.map((kinds) => kinds.join(' '));
	expect(together.find((kinds) => kinds.includes('stop'))).toContain('stop tool_result step');
	expect(together.at(-1)).toContain('stop step done');
});

test('the end of a turn comes before a tool has its result, where that takes time', async () => {
	const released = Promise.withResolvers<void>();
	const slow = readTool('echo', () => released.promise.then(() => 'late'));
	const batches = await readTogether(slow, (kinds) => {
		if (kinds.includes('stop')) released.resolve();
	});
	expect(batches.find((kinds) => kinds.includes('stop'))).not.toContain('tool_result');
	expect(batches.flat()).toContain('tool_result');
});
