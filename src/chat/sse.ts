import type { RunEvent } from './event.ts';

/** One event in the wire form of `text/event-stream` (WHATWG HTML, 9.2): JSON holds no line break, so one `data` line. */
export function toSse(event: RunEvent, id?: string): string {
	const head = id === undefined ? '' : `id: ${id}\n`;
	return `${head}event: ${event.type.replace(/[\r\n]/g, ' ')}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Ends a stream of bytes, also for a reader that brought its own buffer. */
export function close(controller: ReadableByteStreamController): void {
	controller.close();
	controller.byobRequest?.respond(0);
}
