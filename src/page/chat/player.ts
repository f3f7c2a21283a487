/** Shows the events of a run. Each frame draws a limited number of events, so that the page stays responsive. */

import type { RunEvent } from '../../client/index.ts';
import type { RunView } from './run-view.ts';
import type { Transcript } from './transcript.ts';

interface Options {
	/** Aborted when the page leaves the chat. */
	readonly signal: AbortSignal;
	readonly onShown: (event: RunEvent, view: RunView) => void;
}

interface Place extends Pick<Transcript, 'addRun'> {
	readonly tail: Pick<Transcript['tail'], 'keep'>;
}

export function createPlayer({ addRun, tail }: Place, { signal, onShown }: Options) {
	const view = addRun();
	const queue: RunEvent[] = [];
	let drawing: Promise<void> | undefined;

	async function draw(): Promise<void> {
		while (queue.length > 0) {
			await new Promise(requestAnimationFrame);
			if (signal.aborted) return;
			for (const event of takeSlice(queue)) {
				view.apply(event);
				onShown(event, view);
			}
			view.flush();
			tail.keep();
		}
		drawing = undefined;
	}

	return {
		push(event: RunEvent): void {
			queue.push(event);
			drawing ??= draw();
		},
		/** Ends the run. Resolves when the whole run is shown, or when the page leaves the chat. */
		async end(): Promise<void> {
			await drawing;
			if (signal.aborted) return;
			view.end();
			tail.keep();
			if (!view.root.hasChildNodes()) view.root.remove();
		},
	};
}

/** The approximate number of characters that one frame draws. */
const mostCharacters = 1_500;
/** The cost of drawing an event, without its text, in characters. */
const eventCost = 5;

/** Removes the next events from the queue, at least one. Splits a text that is too long for one frame. */
export function takeSlice(queue: RunEvent[]): RunEvent[] {
	let room = mostCharacters;
	let count = 0;
	for (const [at, event] of queue.entries()) {
		const length = countCharacters(event);
		if (length > room && event.type === 'text') {
			const end = findEnd(event.text, room);
			const rest = { ...event, text: event.text.slice(end) };
			return [...queue.splice(0, at + 1, rest).slice(0, at), { ...event, text: event.text.slice(0, end) }];
		}
		count = at + 1;
		room -= length + eventCost;
		if (room <= 0) break;
	}
	return queue.splice(0, count);
}

/** Returns where to cut a text without splitting a character. */
function findEnd(text: string, most: number): number {
	return /[\ud800-\udbff]/.test(text.charAt(most - 1)) ? most + 1 : most;
}

function countCharacters(event: RunEvent): number {
	if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
	return event.type === 'child' ? countCharacters(event.event) : 0;
}
