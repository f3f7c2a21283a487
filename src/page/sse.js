/**
 * Server-sent events out of a response's body.
 *
 * @typedef {{ id: string, type: string, data: string }} SseEvent
 */

/** The bytes of a stream stopped coming: the connection broke, or nothing came for too long. */
export class SseBroken extends Error {
	/** @override */
	name = 'SseBroken';
}

/**
 * The events of `body`. One that the end of the stream cuts off is not given.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @param {number} idleMs longest silence that is borne
 * @returns {AsyncGenerator<SseEvent, void, void>} throws `SseBroken`
 */
export async function* readSse(body, idleMs) {
	const parser = createSseParser();
	const reader = body.getReader();
	try {
		for (;;) {
			const { done, value } = await within(idleMs, reader.read());
			if (done) return;
			yield* parser.push(value);
		}
	} catch (cause) {
		throw new SseBroken('The stream broke off.', { cause });
	} finally {
		reader.cancel().catch(() => {});
	}
}

/**
 * An incremental parser of `text/event-stream` (WHATWG HTML, section 9.2.6). Each byte is looked at once, wherever
 * chunks are cut: inside a character, a line end, an event.
 */
export function createSseParser() {
	const decoder = new TextDecoder();
	let line = '';
	let endedWithCr = false;
	let id = '';
	let type = '';
	/** @type {string[]} */
	let data = [];

	/**
	 * @param {string} text one whole line
	 * @param {SseEvent[]} events
	 */
	function take(text, events) {
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
		/**
		 * @param {Uint8Array} bytes
		 * @returns {SseEvent[]} the events that these bytes complete
		 */
		push(bytes) {
			/** @type {SseEvent[]} */
			const events = [];
			let text = decoder.decode(bytes, { stream: true });
			if (text === '') return events;
			if (endedWithCr && text.startsWith('\n')) text = text.slice(1);
			endedWithCr = text.endsWith('\r');
			let from = 0;
			for (const end of text.matchAll(/\r\n?|\n/g)) {
				take(line + text.slice(from, end.index), events);
				line = '';
				from = end.index + end[0].length;
			}
			line += text.slice(from);
			return events;
		},
	};
}

/**
 * @template T
 * @param {number} ms
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function within(ms, promise) {
	/** @type {ReturnType<typeof setTimeout> | undefined} */
	let timer;
	const deadline = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`Nothing came for ${ms} ms.`)), ms);
	});
	try {
		return /** @type {T} */ (await Promise.race([promise, deadline]));
	} finally {
		clearTimeout(timer);
	}
}
