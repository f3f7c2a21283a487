import { getString, type Json } from '../../adapter/json.ts';
import type { WireMessage } from './conversation.ts';

/** Returns the mark of a block, up to which the API keeps the request in its cache. */
export function createMark(cache: '5m' | '1h' | false): Json {
	return cache === false ? {} : { cache_control: { type: 'ephemeral', ...(cache === '1h' && { ttl: cache }) } };
}

/**
 * Marks the newest message, so that the next turn reads it from the cache, and the end of the request before, which wrote
 * what this one reads. The API looks for that at most 20 blocks in front of a mark, and a turn may have more. Two marks are
 * left for the tools and the system prompt: the API takes four.
 */
export function markMessages(wire: readonly WireMessage[], mark: Json): void {
	markUpTo(wire, wire.length - 1, mark);
	const answer = wire.findLastIndex(({ role }) => role === 'assistant');
	if (answer > 0 && answer < wire.length - 1) markUpTo(wire, answer - 1, mark);
}

/** Marks the last block that can be marked, in this message or in front of it. */
function markUpTo(wire: readonly WireMessage[], end: number, mark: Json): void {
	for (let at = end; at >= 0; at--) {
		const message = wire[at];
		if (message === undefined || message.role === 'system') continue;
		const place = message.content.findLastIndex((block) => markable.has(getString(block, 'type') ?? ''));
		if (place === -1) continue;
		message.content[place] = { ...message.content[place], ...mark };
		return;
	}
}

/** Thinking cannot be marked. */
const markable: ReadonlySet<string> = new Set(['text', 'image', 'document', 'tool_use', 'tool_result']);
