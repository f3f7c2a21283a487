/**
 * Formats an event as `text/event-stream` (WHATWG HTML, 9.2). JSON has no line break, so there is one `data` line. The
 * id is last: some clients store an id as soon as they read its line, and would return after an event whose data was
 * cut off.
 */
export function toSse<E extends { readonly type: string }>(event: E, id?: string): string {
	const idLine = id === undefined ? '' : `id: ${id}\n`;
	return `event: ${event.type.replace(/[\r\n]/g, ' ')}\ndata: ${JSON.stringify(event)}\n${idLine}\n`;
}

/** Ends a stream of bytes, even for a reader with its own buffer (BYOB). */
export function close(controller: ReadableByteStreamController): void {
	controller.close();
	controller.byobRequest?.respond(0);
}
