import type { ChatOptions } from '../../../core/chat/index.ts';
import type { MessageRecord } from '../store/message.ts';
import type { SessionStore } from '../store/store.ts';

/** Characters of a conversation that are read for a run: more than fits any model, less than fills the object's memory. */
const mostCharacters = 32_000_000;

/** What a model may be sent of the conversation: from the newest summary on, and no more than could fit. */
export function readHistory(
	store: SessionStore,
	{ contextFull, maxContextTokens }: Pick<ChatOptions, 'contextFull' | 'maxContextTokens'>,
): readonly MessageRecord[] {
	const characters = contextFull === 'truncate' ? toCharacters(maxContextTokens) : mostCharacters;
	return store.messages.newest({ from: store.summary, characters });
}

/** Characters that are more than fit into so many tokens, whoever counts them. */
function toCharacters(tokens = 1_000_000): number {
	return Math.min(mostCharacters, 16 * tokens);
}
