import { isDeepStrictEqual } from 'node:util';
import type { StoredMessage } from './client.ts';
import type { Transcript } from './transcript.ts';
import type { Ask } from './upstream.ts';

/**
 * Throws if a history is invalid: the message is missing or repeated, a call has no result or two results, a
 * result has no call, or a reply differs from the model's complete reply. The last calls may be open if the run
 * did not complete.
 */
export function checkHistory(
	tag: string,
	messages: readonly StoredMessage[],
	asks: readonly Ask[],
	isComplete: boolean,
): void {
	const asked = messages.filter(({ role, content }) => role === 'user' && content === tag);
	if (asked.length !== 1) throw new Error(`${tag}: its message is in the history ${asked.length} times`);
	const given = new Set(asks.filter((ask) => ask.tag === tag).map(({ answer }) => answer.text));
	let open = new Set<string>();
	const close = (): void => {
		if (open.size > 0) throw new Error(`${tag}: no result of ${[...open].join(', ')}`);
	};
	for (const { role, content, toolCalls = [], toolCallId = '' } of messages) {
		if (role === 'tool') {
			if (!open.delete(toolCallId)) throw new Error(`${tag}: a result of ${toolCallId}, which is not open`);
			continue;
		}
		close();
		open = new Set(toolCalls.map(({ id }) => id));
		if (role === 'assistant' && !given.has(String(content)))
			throw new Error(`${tag}: a reply that the model did not give: ${content}`);
	}
	if (isComplete) close();
}

/** Throws if a reader's turns differ from the stored turns in a byte of text, a call, an input or a result. */
export function checkReading(tag: string, { turns, end }: Transcript, messages: readonly StoredMessage[]): void {
	const replies = messages.filter(({ role }) => role === 'assistant');
	if (end?.type === 'done' && turns.length !== replies.length)
		throw new Error(`${tag}: ${turns.length} turns were read, ${replies.length} are stored`);
	for (const [index, { text, calls, results }] of turns.entries()) {
		const { content, toolCalls = [] } = replies[index] ?? {};
		if (text !== content) throw new Error(`${tag}: turn ${index} was read as "${text}", stored as "${content}"`);
		const read = calls.map(({ id, name, json }) => ({ id, name, input: JSON.parse(json) }));
		const ofCall = new Map(messages.map((message) => [message.toolCallId, message.content]));
		const stored = toolCalls.map(({ id }) => ({ id, output: ofCall.get(id) }));
		const byId = (a: { id: string }, b: { id: string }) => a.id.localeCompare(b.id);
		if (!isDeepStrictEqual(read, toolCalls)) throw new Error(`${tag}: turn ${index} was read with other calls`);
		if (!isDeepStrictEqual(results.toSorted(byId), stored.toSorted(byId)))
			throw new Error(`${tag}: turn ${index} was read with other results`);
	}
}
