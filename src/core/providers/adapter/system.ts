import { type Message, messageText } from '../../chat/index.ts';

/** Returns the system prompt with the system messages in front of the conversation. Later ones stay in their places. */
export function joinSystem(
	system: string | undefined,
	messages: readonly Message[],
	...more: readonly (string | undefined)[]
): string {
	const rest = messages.findIndex(({ role }) => role !== 'system');
	const first = messages.slice(0, rest === -1 ? undefined : rest);
	return [system, ...first.map(messageText), ...more].filter((text) => text !== undefined && text !== '').join('\n\n');
}

/** Returns the conversation without the system messages in front of it. */
export function dropFirstSystem(messages: readonly Message[]): readonly Message[] {
	const rest = messages.findIndex(({ role }) => role !== 'system');
	return rest === -1 ? [] : messages.slice(rest);
}

/**
 * Writes a system message within a conversation as a user's text, for APIs that take none there. In front of the
 * conversation it would change the beginning of each later request.
 */
export function toSystemText(text: string): string {
	return `<system>\n${text}\n</system>`;
}
