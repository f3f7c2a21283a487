/** What is on its way to the server when somebody turns to another place of the page. */

import { ClientError, type RunEvents } from '../../client/index.ts';

/**
 * Sends something, and reads the run that follows. Whoever leaves the place meanwhile ends the reading, and not the sending:
 * what was sent arrives.
 */
export function sendAndRead(place: AbortSignal, begin: (signal: AbortSignal) => RunEvents): RunEvents {
	const reading = new AbortController();
	const events = begin(reading.signal);
	const next = events.next.bind(events);
	let isFirst = true;
	return Object.assign(events, {
		next: async () => {
			const result = await next();
			if (isFirst && place.aborted) reading.abort(place.reason);
			else if (isFirst) place.addEventListener('abort', () => reading.abort(place.reason), { once: true });
			isFirst = false;
			return result;
		},
	});
}

/** Whether the server has taken what was sent, and only the reading of its run came to an end. */
export function hasArrived(error: unknown, place: AbortSignal): boolean {
	return error === place.reason || (error instanceof ClientError && error.code === 'connection_lost');
}
