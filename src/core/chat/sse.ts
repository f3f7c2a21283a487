import type { RunEvent } from './event.ts';

/**
 * One event in the wire form of `text/event-stream` (WHATWG HTML, 9.2): JSON holds no line break, so one `data` line.
 * The id stands last: some clients keep an id as soon as they read its line. They would come back behind an event whose
 * data is cut off.
 */
export function toSse(event: RunEvent, id?: string): string {
	const idLine = id === undefined ? '' : `id: ${id}\n`;
	return `event: ${event.type.replace(/[\r\n]/g, ' ')}\ndata: ${JSON.stringify(event)}\n${idLine}\n`;
}

/** Ends a stream of bytes, also for a reader with a buffer of its own (BYOB). */
export function close(controller: ReadableByteStreamController): void {
	controller.close();
	controller.byobRequest?.respond(0);
}
