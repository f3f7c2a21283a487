import { dropUndefined } from '../base/json.ts';
import { flattenParts, type MessagePart, textPart } from '../base/part.ts';
import type { ToolCall, ToolResult } from '../tool/index.ts';
import type { ProviderCall, Source } from './provider-tool.ts';

export interface SystemMessage {
	readonly role: 'system';
	readonly content: string;
	/**
	 * Whether the message summarizes everything before it. The model gets the newest summary that has a user message
	 * after it, and all later messages. Other system messages are always sent.
	 */
	readonly summary?: boolean;
	/** Only for a summary: the skills that the model read before the summary. Their tools are still callable. */
	readonly skills?: readonly string[];
}

export interface UserMessage {
	readonly role: 'user';
	/** The text. If there are `parts`, adapters use them, and this is only their text form. */
	readonly content: string;
	readonly parts?: readonly MessagePart[];
}

export interface AssistantMessage {
	readonly role: 'assistant';
	readonly content: string;
	readonly parts?: readonly MessagePart[];
	/** The calls of this turn. Each is answered by a later `ToolMessage`. */
	readonly toolCalls?: readonly ToolCall[];
	/** For people: the visible thinking of the model. It is never sent back as text. */
	readonly reasoning?: string;
	/** For people: the calls that the provider itself ran. */
	readonly providerCalls?: readonly ProviderCall[];
	/** For people: the sources of the text. */
	readonly sources?: readonly Source[];
	/** Data that a provider wants back (signatures, reasoning items), by provider. Other providers do not get it. */
	readonly providerMetadata?: Readonly<Record<string, unknown>>;
}

export interface ToolMessage {
	readonly role: 'tool';
	/** The result of the tool: any JSON. */
	readonly content: unknown;
	/** The id of the answered call, which is in the last assistant message before this result. */
	readonly toolCallId: string;
	readonly isError?: boolean;
	/** The arguments of the call, if a person changed them. The model sees them. */
	readonly ranWith?: Readonly<Record<string, unknown>>;
	readonly parts?: readonly MessagePart[];
}

/** A message of a conversation in Runlet's own form. Adapters translate it. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** Makes a user's message from a text or from parts. */
export function userMessage(content: string | readonly MessagePart[]): UserMessage {
	return typeof content === 'string'
		? { role: 'user', content }
		: { role: 'user', content: flattenParts(content), parts: content };
}

/** Makes an assistant's message. The results of its calls must follow it. */
export function assistantMessage(text?: string, toolCalls?: readonly ToolCall[]): AssistantMessage {
	const message = { role: 'assistant', content: text ?? '' } as const;
	return toolCalls === undefined || toolCalls.length === 0 ? message : { ...message, toolCalls };
}

/** Makes the message of a tool's result. Keeps `isError`, the parts, and arguments changed by a person. */
export function toolResultMessage({ id, output, isError, parts, ranWith }: ToolResult): ToolMessage {
	return dropUndefined({ role: 'tool', content: output ?? null, toolCallId: id, isError, parts, ranWith });
}

/** Returns the result of a message. The inverse of `toolResultMessage`. */
export function readToolResult({ toolCallId: id, content: output, ...message }: ToolMessage): ToolResult {
	const { isError = false, parts, ranWith } = message;
	return dropUndefined({ id, output, isError, parts, ranWith });
}

/** Returns the text of a message: of its parts, else of its content. Content that is not text becomes JSON. */
export function messageText(message: Message): string {
	if ('parts' in message && message.parts !== undefined && message.parts.length > 0) return flattenParts(message.parts);
	if (typeof message.content === 'string') return message.content;
	return message.content === undefined ? '' : JSON.stringify(message.content);
}

/** Lists the last assistant message's calls without a result. Returns none if another message follows the results. */
export function listOpenCalls(messages: readonly Message[]): readonly ToolCall[] {
	const answered = new Set<string>();
	for (let index = messages.length - 1; index >= 0; index--) {
		const message = messages[index];
		if (message?.role === 'tool') answered.add(message.toolCallId);
		else if (message?.role === 'assistant') return (message.toolCalls ?? []).filter(({ id }) => !answered.has(id));
		else break;
	}
	return [];
}

/** Inserts a result after its assistant message, in the order of the calls. Changes the array. */
export function insertResult(messages: Message[], result: ToolMessage): void {
	let start = messages.length;
	while (start > 0 && messages[start - 1]?.role === 'tool') start--;
	const assistant = messages[start - 1];
	const order = assistant?.role === 'assistant' ? (assistant.toolCalls ?? []).map(({ id }) => id) : [];
	const rank = order.indexOf(result.toolCallId);
	let at = messages.length;
	for (; at > start; at--) {
		const before = messages[at - 1];
		if (before?.role !== 'tool' || order.indexOf(before.toolCallId) < rank) break;
	}
	messages.splice(at, 0, result);
}

/**
 * Converts a history to a form that providers take, in a new array: each call has one result, after its assistant
 * message, in the order of the calls. Adds an `isError` result for a missing result, and drops other results.
 */
export function toSendable(messages: readonly Message[]): Message[] {
	const sendable: Message[] = [];
	/** The places of the missing results, by call id. */
	const open = new Map<string, number>();
	for (const message of messages) {
		if (message.role === 'tool') {
			const at = open.get(message.toolCallId);
			if (at !== undefined) sendable[at] = describeEdit(message);
			open.delete(message.toolCallId);
			continue;
		}
		sendable.push(message);
		if (message.role !== 'assistant') continue;
		if (open.size > 0) open.clear();
		for (const { id } of message.toolCalls ?? []) {
			if (open.has(id)) continue;
			open.set(id, sendable.length);
			sendable.push({ role: 'tool', content: notRun, toolCallId: id, isError: true });
		}
	}
	return sendable;
}

/** Adds a note with the changed arguments to a result. */
function describeEdit(result: ToolMessage): ToolMessage {
	if (result.ranWith === undefined) return result;
	const { ranWith, ...message } = result;
	const note = `A person changed the arguments, and the call ran with ${JSON.stringify(ranWith)}. Its result:\n`;
	const parts = message.parts && [textPart(note), ...message.parts];
	return { ...message, content: `${note}${messageText(message)}`, ...(parts && { parts }) };
}

const notRun = 'This call was not run: the conversation went on without its result.';
