import { RunletError } from '../ground/errors.ts';
import { isRecord } from '../ground/json.ts';

import type { ChatReply, OnDelta } from './reply.ts';

/** The default for the most bytes of a reply: text, thinking and the input of calls together. */
export const usualReplyBytes = 8_388_608;

/** The approximate bytes of an event besides its text. */
const eventBytes = 32;

/** The most deltas without text before timers get a turn. Only time ends a stream of such deltas. */
const emptyAtOnce = 1_024;

/** Creates the error for a reply that is too long. The request is not repeated. */
export function createReplyTooLarge(model: string, maxBytes: number): RunletError {
	const message = `${model}: the reply is longer than ${maxBytes} bytes, so it was broken off. Ask for less, or raise maxReplyBytes.`;
	return new RunletError('reply_too_large', message, { model, maxReplyBytes: maxBytes });
}

/** Counts the deltas of one reply. */
export function createDeltaMeter(maxBytes: number) {
	let bytes = 0;
	let empty = 0;
	return {
		/** Counts a delta. Returns whether the reply is still within the limit. */
		fits: (delta: Parameters<OnDelta>[0]): boolean => {
			// What a reply still says that was broken off is not counted.
			if (bytes > maxBytes) return false;
			const size = measureDelta(delta);
			bytes += size;
			empty = size === 0 ? empty + 1 : 0;
			return bytes <= maxBytes;
		},
		/** Returns what to wait for before the next delta. */
		pause: (): undefined | Promise<void> => {
			if (empty < emptyAtOnce) return undefined;
			empty = 0;
			return new Promise((resolve) => setTimeout(resolve, 0));
		},
	};
}

/** Counts the bytes of a reply: its text, its thinking, and the input of its calls. */
export function measureReply({ text = '', reasoning = '', toolCalls = [] }: ChatReply): number {
	const inputs = toolCalls.reduce((sum, { input }) => sum + eventBytes + measureData(input), 0);
	return byteLength(text) + byteLength(reasoning) + inputs;
}

function measureDelta(delta: Parameters<OnDelta>[0]): number {
	if (!isRecord(delta) || delta.type === 'stop') return 0;
	if (delta.type === 'text' || delta.type === 'reasoning') return byteLength(delta.text);
	return eventBytes + Object.values(delta).reduce<number>((sum, value) => sum + byteLength(value), 0);
}

/** Counts the bytes of the texts and keys of data, at any depth. */
function measureData(data: unknown): number {
	const seen = new Set<object>();
	const open: unknown[] = [data];
	let size = 0;
	while (open.length > 0) {
		const value = open.pop();
		size += byteLength(value) + 1;
		if (typeof value !== 'object' || value === null || seen.has(value)) continue;
		seen.add(value);
		if (isRecord(value)) for (const key of Object.keys(value)) size += byteLength(key);
		open.push(...Object.values(value));
	}
	return size;
}

/** Counts the bytes of a text in UTF-8 without encoding it. Returns 0 for anything else. */
function byteLength(text: unknown): number {
	if (typeof text !== 'string') return 0;
	let bytes = text.length;
	for (let at = 0; at < text.length; at++) {
		const unit = text.charCodeAt(at);
		if (unit < 0x80) continue;
		// The two halves of a surrogate pair are four bytes together.
		bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
	}
	return bytes;
}
