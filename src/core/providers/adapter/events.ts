import { RunletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { createWireBounds, createWireMeter, type WireBounds } from './bounded.ts';
import { createParser } from './event-parser.ts';
import type { Json } from './json.ts';

/** Stands for the line `data: [DONE]`, which ends a stream of OpenAI's dialect. */
export const done: Json = Object.freeze({ done: true });

/** Takes the events of a stream. */
export interface EventTaker {
	/** Called for each network chunk, before its events. A chunk without an event shows activity. */
	readonly onChunk?: () => void;
	/** Takes one event. A returned promise means that the reader of the run is slower. */
	readonly take: (event: Json) => undefined | Promise<void>;
	/** Whether nothing is missing any more. */
	readonly hasAll: () => boolean;
}

/**
 * Reads the events of a server-sent stream as JSON. Resolves to whether it came to its end: reading stops as soon as
 * nothing is missing, and at `data: [DONE]`. Then the connection stays for the next request if nothing is missing, else
 * it is closed, as at an abort and a failure. Throws `interrupted` for an event that is not JSON, and
 * `reply_too_large` over the limits.
 */
export async function readEvents(
	response: Response,
	signal: AbortSignal,
	{ onChunk, take, hasAll }: EventTaker,
	bounds = createWireBounds('The model'),
): Promise<boolean> {
	const reader = response.body?.getReader();
	if (reader === undefined) return true;
	// Errors after this point do not matter.
	const leave = (): void => void reader.cancel().catch(() => {});
	if (signal.aborted) {
		leave();
		return true;
	}
	const decoder = createEventDecoder(bounds);
	signal.addEventListener('abort', leave, { once: true });
	let ended = false;
	try {
		while (!ended) {
			const { value, done: last } = await reader.read();
			ended = last;
			const { events, broken } = decoder.decode(value);
			if (events.length > 0 || !last) onChunk?.();
			for (const event of events) {
				const room = take(event);
				if (room !== undefined) await room;
				if (event === done || hasAll()) return false;
			}
			if (broken !== undefined) throw broken;
		}
		return true;
	} finally {
		signal.removeEventListener('abort', leave);
		if (!ended && !signal.aborted && hasAll()) void readRest(reader);
		else leave();
	}
}

/** Decodes network chunks to events. No chunk means the end. */
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
				if (broken === undefined) take(data, events);
			} catch {
				broken = new RunletError(
					'interrupted',
					'the stream holds an event that is no JSON; it was cut or changed on its way.',
				);
			}
		},
	});
	return {
		/** Returns the events that are whole now, and the failure that comes after them. */
		decode: (chunk: Uint8Array | undefined): { readonly events: readonly Json[]; readonly broken?: RunletError } => {
			events = [];
			meter.add(chunk?.byteLength ?? 0);
			const text = chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
			recent += text;
			if (recent.length > 2 * longestBare) recent = recent.slice(-longestBare);
			// The empty line after the last event may be missing.
			parser.feed(chunk === undefined ? `${text}\n\n` : text);
			if (chunk === undefined && broken === undefined) takeBare(recent, events);
			return { events, broken };
		},
	};
}

/** The most characters of an error that is in a stream but not in an event. */
const longestBare = 8_192;

/**
 * Google may end a stream with an error as bare JSON instead of an event. Takes what follows the last line of an event.
 */
function takeBare(text: string, batch: Json[]): void {
	const lines = text.split(/\r\n|\r|\n/);
	const bare = lines.slice(lines.findLastIndex((line) => /^(data|event|id|retry)?:/.test(line)) + 1).join('\n');
	if (!/^\s*[[{]/.test(bare)) return;
	try {
		take(bare, batch);
	} catch {
		// It was not an error.
	}
}

/** Adds the content of an event. Throws if it is not JSON. */
function take(data: string, batch: Json[]): void {
	if (data === '') return;
	if (data === '[DONE]') {
		batch.push(done);
		return;
	}
	const value: unknown = JSON.parse(data);
	if (isRecord(value)) batch.push(value);
	else if (Array.isArray(value)) batch.push(...value.filter(isRecord));
}

/** The most bytes of the rest of an answer. */
const mostBytes = 65_536;

/** The most milliseconds that its end may take. */
const mostMs = 1_000;

/**
 * Reads an answer of which all is known to its end, so that its connection can serve the next request. Nobody has to wait
 * for it, and it never rejects. Closes the connection if the rest is long or late.
 */
async function readRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
	const close = (): void => void reader.cancel().catch(() => {});
	const timer = setTimeout(close, mostMs);
	try {
		for (let bytes = 0; bytes <= mostBytes; ) {
			const { value, done } = await reader.read();
			if (done) return;
			bytes += value.byteLength;
		}
		close();
	} catch {
		// The connection was lost, and what was needed came before.
	} finally {
		clearTimeout(timer);
	}
}
