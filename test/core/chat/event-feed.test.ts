import { expect, test } from 'vitest';
import { createEventFeed } from '../../../src/core/chat/event-feed.ts';

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
