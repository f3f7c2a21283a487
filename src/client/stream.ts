import { ClientError } from './error.ts';
import { type Connection, createNotRunlet, type Http, isWorthRetry, type SignalOption } from './http.ts';
import type { ClosedEvent, RunEvent } from './types.ts';

/** The events of a run, each once. The request starts when the reading starts. */
export type RunEvents = AsyncGenerator<RunEvent, void, void> & {
	/** The id of the last event that was read. `followRun` continues after it. */
	readonly lastEventId: string | undefined;
};

interface StreamOptions extends SignalOption {
	readonly http: Http;
	/** Opens the events after an id. Without an id, opens the events of the newest run from its start. */
	readonly follow: (lastEventId: string | undefined) => Promise<Connection>;
	/** Starts a run. A repeated call returns the same run. Without `begin`, the newest run is followed. */
	readonly begin?: () => Promise<Connection>;
	readonly lastEventId?: string;
}

const terminalTypes: ReadonlySet<string> = new Set(['done', 'awaiting', 'halted', 'cancelled', 'error']);

/**
 * Reads a run up to its terminal event. A dropped stream continues after the last event, or starts again if no
 * event has arrived. Throws a `ClientError`, such as `connection_lost` after too many drops in a row.
 */
export function streamRun({ http, follow, begin, lastEventId, signal }: StreamOptions): RunEvents {
	async function* read(): AsyncGenerator<RunEvent, void, void> {
		let connection = begin && (await http.retry(begin, signal));
		for (let drops = 0; ; ) {
			let failure: unknown;
			try {
				connection ??= await (begin === undefined || events.lastEventId ? follow(events.lastEventId) : begin());
				for await (const { id, data } of readSse(connection)) {
					drops = 0;
					if (id !== '') events.lastEventId = id;
					const event = parseEvent(data);
					if (event?.type === 'closed') throw new ClientError(event.code, event.message, { status: 401 });
					if (event === undefined) continue;
					yield event;
					if (terminalTypes.has(event.type)) return;
				}
				signal?.throwIfAborted();
				if (!isEventStream(connection.response)) return;
			} catch (error) {
				signal?.throwIfAborted();
				if (!isWorthRetry(error)) throw error;
				failure = error;
			}
			connection = undefined;
			drops += 1;
			if (drops > http.streamRetries) {
				const message = 'The connection was lost. The run goes on at the server.';
				throw new ClientError('connection_lost', message, { cause: failure });
			}
			await http.pause(drops, failure, signal);
		}
	}

	const events = Object.assign(read(), { lastEventId });
	return events;
}

/** Reads the server-sent events of an answer. Leaves out an incomplete event at the end. */
async function* readSse({ response, silence }: Connection): AsyncGenerator<SseEvent, void, void> {
	const { body } = response;
	if (!isEventStream(response) || body === null) {
		silence.end();
		await body?.cancel();
		// 204: there is nothing to follow. JSON: other calls still wait for answers.
		if (response.status === 204 || isJson(response)) return;
		throw createNotRunlet();
	}
	const parser = createSseParser();
	const reader = body.getReader();
	const leave = (): void => void reader.cancel().catch(() => {});
	silence.signal.addEventListener('abort', leave);
	try {
		for (;;) {
			silence.begin();
			const { done, value } = await reader.read();
			// The time that the caller needs for these events does not count as the server's silence.
			silence.pause();
			if (done) return;
			yield* parser.push(value);
		}
	} catch (cause) {
		throw new ClientError('connection_lost', 'The stream broke off.', { cause });
	} finally {
		silence.end();
		silence.signal.removeEventListener('abort', leave);
		leave();
	}
}

function isEventStream({ headers }: Response): boolean {
	return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function isJson({ headers }: Response): boolean {
	return headers.get('content-type')?.startsWith('application/json') === true;
}

/** Parses the data of an event. Returns `undefined` if it is not an event of Runlet. */
function parseEvent(data: string): RunEvent | ClosedEvent | undefined {
	try {
		const value: unknown = JSON.parse(data);
		return isRunEvent(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

function isRunEvent(value: unknown): value is RunEvent | ClosedEvent {
	return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** An event of a `text/event-stream`. */
interface SseEvent {
	/** The last `id:` of the stream: of this event or of an earlier event. Empty before the first `id:`. */
	readonly id: string;
	readonly type: string;
	readonly data: string;
}

/**
 * Makes a parser of server-sent events (WHATWG HTML, section 9.2.6). Chunks can end anywhere: within a character, a
 * line end or an event. Each byte is read only once.
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
