import { createParser } from 'eventsource-parser';
import { RunletError } from '../../ground/errors.ts';
import { isRecord } from '../../ground/json.ts';
import { wireBounds, wireMeter } from './bounded.ts';
import type { Json } from './json.ts';

/** What stands for the line `data: [DONE]`, with which OpenAI's dialect ends a stream. */
export const done: Json = Object.freeze({ done: true });

/**
 * The events of a server-sent stream as JSON, those of one network chunk together; a chunk that completes none is an
 * empty list, and a sign of life. Leaving the generator, or the signal, closes the connection. Throws `interrupted` at
 * an event that is no JSON, `reply_too_large` where the stream, or one event, is longer than its bounds.
 */
export async function* eventBatches(
	response: Response,
	signal: AbortSignal,
	bounds = wireBounds('The model'),
): AsyncGenerator<Json[], undefined> {
	const reader = response.body?.getReader();
	if (reader === undefined) return;
	if (signal.aborted) return void reader.cancel().catch(() => {});
	const decoder = new TextDecoder();
	let batch: Json[] = [];
	let broken: RunletError | undefined;
	let recent = '';
	const meter = wireMeter(bounds);
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
	// What a provider does not deliver any more is nobody's error here.
	const leave = (): void => void reader.cancel().catch(() => {});
	signal.addEventListener('abort', leave, { once: true });
	try {
		for (let ended = false; !ended; ) {
			const { value, done: last } = await reader.read();
			ended = last;
			meter.add(value?.byteLength ?? 0);
			const text = last ? decoder.decode() : decoder.decode(value, { stream: true });
			recent += text;
			if (recent.length > 2 * longestBare) recent = recent.slice(-longestBare);
			// The empty line of the last event may be missing.
			parser.feed(last ? `${text}\n\n` : text);
			if (last && broken === undefined) takeBare(recent, batch);
			const full = batch;
			batch = [];
			if (full.length > 0 || !last) yield full;
			if (broken !== undefined) throw broken;
		}
	} finally {
		signal.removeEventListener('abort', leave);
		leave();
	}
}

/** How long an error may be that stands in a stream without being an event, in characters. */
const longestBare = 8_192;

/** Google breaks a stream off with an error as bare JSON, no event: what stands behind the last line that is one's. */
function takeBare(text: string, batch: Json[]): void {
	const lines = text.split(/\r\n|\r|\n/);
	const bare = lines.slice(lines.findLastIndex((line) => /^(data|event|id|retry)?:/.test(line)) + 1).join('\n');
	if (!/^\s*[[{]/.test(bare)) return;
	try {
		take(bare, batch);
	} catch {
		// It was none.
	}
}

/** Adds what an event holds. Throws where it is no JSON. */
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
