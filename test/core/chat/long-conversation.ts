import { type ChatOptions, chat, type Message } from '../../../src/core/index.ts';

/** Creates a user message whose text is padded to a length. */
export const user = (name: string, length = 0) => chat.userMessage(name.padEnd(length));
export const says = (name: string, length = 0) => chat.assistantMessage(name.padEnd(length));
export const rule: Message = { role: 'system', content: 'Be kind.' };

/** Ten groups, each of a question and an answer. A group has 108 tokens. */
export const long: Message[] = Array.from({ length: 10 }, (_, n) => [user(`q${n}`, 200), says(`a${n}`, 200)]).flat();
export const history = [...long, user('now')];

/** Returns the first words of messages. */
export const names = (messages: readonly Message[] = []) => messages.map((one) => chat.messageText(one).split(/\s/)[0]);
export const codes = (events: readonly { readonly code: string }[]) => events.map(({ code }) => code);
export const truncate = (maxContextTokens?: number): Partial<ChatOptions> => ({
	contextFull: 'truncate',
	maxContextTokens,
});
export const compact = (maxContextTokens?: number): Partial<ChatOptions> => ({
	contextFull: 'compact',
	maxContextTokens,
});
