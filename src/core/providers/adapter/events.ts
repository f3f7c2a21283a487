import { RunletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { createWireBounds, createWireMeter, type WireBounds } from './bounded.ts';
import { createParser } from './event-parser.ts';
import type { Json } from './json.ts';

/** Represents the line `data: [DONE]`, which ends a stream of OpenAI's dialect. */
export const done: Json = Object.freeze({ done: true });

interface EventTaker {
	/** Called for each network chunk, before the events of the chunk, and even if it has no events. */
	readonly onChunk?: () => void;
	/** Handles one event. Returns a promise if the reader of the run lags behind. */
	readonly take: (event: Json) => undefined | Promise<unknown>;
	/** Whether the reply is complete. */
	readonly hasAll: () => boolean;
}

/**
 * Reads the events of a server-sent stream as JSON, until the reply is complete, or until `data: [DONE]` or the end.
 * Resolves to whether the stream came to its end. After a complete reply, the connection can serve the next request.
 * Otherwise it is closed. Throws `interrupted` for an event that is not JSON, and `reply_too_large` over the limits.
 */
export async function readEvents(
	response: Response,
	signal: AbortSignal,
	{ onChunk, take, hasAll }: EventTaker,
	bounds = createWireBounds('The model'),
): Promise<boolean> {
	const reader = response.body?.getReader();
	if (reader === undefined) return true;
	const leave = (): void => void reader.cancel().catch(() => {});
	if (signal.aborted) {
		leave();
		return true;
	}
	const decoder = createEventDecoder(bounds);
	signal.addEventListener('abort', leave, { once: true });
	let hasEnded = false;
	try {
		while (!hasEnded) {
			const { value, done: isLast } = await reader.read();
			hasEnded = isLast;
			const { events, broken } = decoder.decode(value);
			if (events.length > 0 || !isLast) onChunk?.();
			for (const event of events) {
				const wait = take(event);
				if (wait !== undefined) await wait;
				if (event === done || hasAll()) return false;
			}
			if (broken !== undefined) throw broken;
		}
		return true;
	} finally {
		signal.removeEventListener('abort', leave);
		if (!hasEnded && !signal.aborted && hasAll()) void readRest(reader);
		else leave();
	}
}

/** Decodes network chunks to events. `undefined` instead of a chunk means the end. */
function createEventDecoder(bounds: WireBounds) {
	const decoder = new TextDecoder();
	const meter = createWireMeter(bounds);
	let events: Json[] = [];
	let broken: RunletError | undefined;
	let recent = '';
	const parser = createParser({
		onEvent: ({ data }) => {
			meter.end();
			try {
				if (broken === undefined) addEvents(data, events);
			} catch {
				const message = 'the stream holds an event that is no JSON; it was cut or changed on its way.';
				broken = new RunletError('interrupted', message);
			}
		},
	});
	return {
		/** Returns the completed events, and the failure after them. */
		decode: (chunk: Uint8Array | undefined): { readonly events: readonly Json[]; readonly broken?: RunletError } => {
			events = [];
			meter.add(chunk?.byteLength ?? 0);
			const text = chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
			recent += text;
			if (recent.length > 2 * longestBare) recent = recent.slice(-longestBare);
			// The empty line after the last event may be missing.
			parser.feed(chunk === undefined ? `${text}\n\n` : text);
			if (chunk === undefined && broken === undefined) addBareError(recent, events);
			return { events, broken };
		},
	};
}

/** The maximum length, in characters, of an error that is in a stream but not in an event. */
const longestBare = 8_192;

/** Adds the text after the last line of an event: Google may end a stream with an error as bare JSON. */
function addBareError(text: string, events: Json[]): void {
	const lines = text.split(/\r\n|\r|\n/);
	const bare = lines.slice(lines.findLastIndex((line) => /^(data|event|id|retry)?:/.test(line)) + 1).join('\n');
	if (!/^\s*[[{]/.test(bare)) return;
	try {
		addEvents(bare, events);
	} catch {
		// The text is not an error.
	}
}

/** Adds the content of an event. Throws if it is not JSON. */
function addEvents(data: string, events: Json[]): void {
	if (data === '') return;
	if (data === '[DONE]') {
		events.push(done);
		return;
	}
	const value: unknown = JSON.parse(data);
	if (isRecord(value)) events.push(value);
	else if (Array.isArray(value)) events.push(...value.filter(isRecord));
}

/** Limits for the rest of a response, after the model's reply is complete: bytes and milliseconds. */
const mostRestBytes = 65_536;
const mostRestMs = 1_000;

/** Reads the rest of a response, so that its connection can serve the next request. Never rejects. */
async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
	const close = (): void => void reader.cancel().catch(() => {});
	const timer = setTimeout(close, mostRestMs);
	try {
		for (let bytes = 0; bytes <= mostRestBytes; ) {
			const { value, done } = await reader.read();
			if (done) return;
			bytes += value.byteLength;
		}
		close();
	} catch {
		// The connection was lost after the complete reply.
	} finally {
		clearTimeout(timer);
	}
}
