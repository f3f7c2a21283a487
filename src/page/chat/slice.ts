/** Cuts what a run says into slices, each of which a frame can draw. */

import type { RunEvent } from '../../client/index.ts';

/** Characters of a slice, about: nobody reads as fast as frames come. */
const mostCharacters = 1_500;
/** What an event costs beside its text, in characters. */
const eventCost = 5;

/** Takes the next events out of a queue, at least one. A text that is too long for one slice is cut. */
export function takeSlice(queue: RunEvent[]): RunEvent[] {
	let room = mostCharacters;
	let taken = 0;
	for (const [at, event] of queue.entries()) {
		const length = countCharacters(event);
		if (length > room && event.type === 'text') {
			const end = findEnd(event.text, room);
			const rest = { ...event, text: event.text.slice(end) };
			return [...queue.splice(0, at + 1, rest).slice(0, at), { ...event, text: event.text.slice(0, end) }];
		}
		taken = at + 1;
		room -= length + eventCost;
		if (room <= 0) break;
	}
	return queue.splice(0, taken);
}

/** Finds where a text may be cut: not within a character. */
function findEnd(text: string, most: number): number {
	return /[\ud800-\udbff]/.test(text.charAt(most - 1)) ? most + 1 : most;
}

function countCharacters(event: RunEvent): number {
	if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
	return event.type === 'child' ? countCharacters(event.event) : 0;
}
