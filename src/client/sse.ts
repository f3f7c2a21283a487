/** An event of a `text/event-stream`. */
export interface SseEvent {
	/** The last `id:` of the stream, its own or an earlier one. Empty before the first. */
	readonly id: string;
	readonly type: string;
	readonly data: string;
}

/**
 * Makes a parser of server-sent events (WHATWG HTML, section 9.2.6). Chunks may be cut anywhere: within a character, a
 * line end or an event. Each byte is read once.
 */
export function createSseParser() {
	const decoder = new TextDecoder();
	let line = '';
	let endedWithCr = false;
	let id = '';
	let type = '';
	let data: string[] = [];

	function takeLine(text: string, events: SseEvent[]): void {
		if (text === '') {
			if (data.length > 0) events.push({ id, type: type || 'message', data: data.join('\n') });
			type = '';
			data = [];
			return;
		}
		const colon = text.indexOf(':');
		const field = colon === -1 ? text : text.slice(0, colon);
		const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
		if (field === 'data') data.push(value);
		else if (field === 'event') type = value;
		else if (field === 'id' && !value.includes('\0')) id = value;
	}

	return {
		/** Returns the events that these bytes complete. */
		push(bytes: Uint8Array): SseEvent[] {
			const events: SseEvent[] = [];
			let text = decoder.decode(bytes, { stream: true });
			if (text === '') return events;
			if (endedWithCr && text.startsWith('\n')) text = text.slice(1);
			endedWithCr = text.endsWith('\r');
			let from = 0;
			for (const end of text.matchAll(/\r\n?|\n/g)) {
				takeLine(line + text.slice(from, end.index), events);
				line = '';
				from = end.index + end[0].length;
			}
			line += text.slice(from);
			return events;
		},
	};
}
