import { expect, test } from 'vitest';
import { toSse } from '../../../src/core/chat/event-feed.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';

/** What a client shows that keeps an id as soon as it has read its line, as `@microsoft/fetch-event-source` does. */
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

test('a client that keeps an id as soon as it reads it misses no event, wherever its connection is cut in front of an event’s end', () => {
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

test('an event without a place has no id', () => {
	expect(toSse({ type: 'text', text: 'One' })).toBe('event: text\ndata: {"type":"text","text":"One"}\n\n');
});
