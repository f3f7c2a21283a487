import { type Message, messageText } from '../../chat/index.ts';

/** Joins the system prompt and the system messages before the conversation. Later system messages stay in place. */
export function joinSystem(
	system: string | undefined,
	messages: readonly Message[],
	...more: readonly (string | undefined)[]
): string {
	const first = messages.slice(0, messages.length - dropFirstSystem(messages).length);
	return [system, ...first.map(messageText), ...more].filter((text) => text !== undefined && text !== '').join('\n\n');
}

/** Returns the conversation without the system messages before it. */
export function dropFirstSystem(messages: readonly Message[]): readonly Message[] {
	const rest = messages.findIndex(({ role }) => role !== 'system');
	return rest === -1 ? [] : messages.slice(rest);
}

/**
 * Writes a system message within a conversation as a user's text, for APIs that take no system message there. Before
 * the conversation it would change the beginning of each later request.
 */
export function toSystemText(text: string): string {
	return `<system>\n${text}\n</system>`;
}
