import { RunletError } from '../../ground/errors.ts';
import { isRecord } from '../../ground/json.ts';
import { createWireBounds, createWireMeter } from './bounded.ts';
import { createParser } from './event-parser.ts';
import type { Json } from './json.ts';
import { readRest } from './rest.ts';

/** Stands for the line `data: [DONE]`, which ends a stream of OpenAI's dialect. */
export const done: Json = Object.freeze({ done: true });

/**
 * Reads the events of a server-sent stream as JSON, in one list for each network chunk. A list may be empty, which
 * shows activity. Leaving the generator, or aborting the signal, closes the connection. If `hasAll` says that nothing is
 * missing any more, leaving keeps the connection for the next request. Throws `interrupted` for an event that is not JSON,
 * and `reply_too_large` over the limits.
 */
export async function* eventBatches(
	response: Response,
	signal: AbortSignal,
	bounds = createWireBounds('The model'),
	hasAll: () => boolean = () => false,
): AsyncGenerator<Json[], undefined> {
	const reader = response.body?.getReader();
	if (reader === undefined) return;
	if (signal.aborted) return void reader.cancel().catch(() => {});
	const decoder = new TextDecoder();
	let batch: Json[] = [];
	let broken: RunletError | undefined;
	let recent = '';
	const meter = createWireMeter(bounds);
	const parser = createParser({
		onEvent: ({ data }) => {
			meter.end();
			try {
				if (broken === undefined) take(data, batch);
			} catch {
				broken = new RunletError(
					'interrupted',
					'the stream holds an event that is no JSON; it was cut or changed on its way.',
				);
			}
		},
	});
	// Errors after this point do not matter.
	const leave = (): void => void reader.cancel().catch(() => {});
	signal.addEventListener('abort', leave, { once: true });
	let ended = false;
	try {
		while (!ended) {
			const { value, done: last } = await reader.read();
			ended = last;
			meter.add(value?.byteLength ?? 0);
			const text = last ? decoder.decode() : decoder.decode(value, { stream: true });
			recent += text;
			if (recent.length > 2 * longestBare) recent = recent.slice(-longestBare);
			// The empty line after the last event may be missing.
			parser.feed(last ? `${text}\n\n` : text);
			if (last && broken === undefined) takeBare(recent, batch);
			const full = batch;
			batch = [];
			if (full.length > 0 || !last) yield full;
			if (broken !== undefined) throw broken;
		}
	} finally {
		signal.removeEventListener('abort', leave);
		if (!ended && !signal.aborted && hasAll()) readRest(reader);
		else leave();
	}
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
