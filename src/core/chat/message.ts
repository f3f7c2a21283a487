import { flattenParts, type MessagePart } from '../ground/part.ts';
import type { ToolCall, ToolResult } from '../tool/index.ts';

export interface SystemMessage {
	readonly role: 'system';
	readonly content: string;
	/**
	 * It sums up what stands in front of it. A model is sent the newest summary that has a user message behind it, and what
	 * follows. Other system messages are sent wherever they stand.
	 */
	readonly summary?: boolean;
	/** Of a summary: the skills that were read in front of it. Their tools may still be called. */
	readonly skills?: readonly string[];
}

export interface UserMessage {
	readonly role: 'user';
	/** The text; where `parts` are given, they win and this is their flattened form. */
	readonly content: string;
	readonly parts?: readonly MessagePart[];
}

export interface AssistantMessage {
	readonly role: 'assistant';
	readonly content: string;
	readonly parts?: readonly MessagePart[];
	/** Calls of this turn; each is answered by a later `ToolMessage`. */
	readonly toolCalls?: readonly ToolCall[];
	/** What the model showed of its thinking. For people: it is never sent back as text. */
	readonly reasoning?: string;
	/** What a provider needs to go on (signatures, reasoning items), by provider. Goes back unchanged, to it alone. */
	readonly providerMetadata?: Readonly<Record<string, unknown>>;
}

export interface ToolMessage {
	readonly role: 'tool';
	/** What the tool gave back: any JSON. */
	readonly content: unknown;
	/** Answers the call of this id in the nearest assistant message before it. */
	readonly toolCallId: string;
	readonly isError?: boolean;
	readonly parts?: readonly MessagePart[];
}

/** One message of a conversation in Runlet's own form; adapters translate it. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** A user's message, from a text or from parts. */
export function userMessage(content: string | readonly MessagePart[]): UserMessage {
	return typeof content === 'string'
		? { role: 'user', content }
		: { role: 'user', content: flattenParts(content), parts: content };
}

/** An assistant's turn. The results of its calls must follow it. */
export function assistantMessage(text?: string, toolCalls?: readonly ToolCall[]): AssistantMessage {
	const message = { role: 'assistant', content: text ?? '' } as const;
	return toolCalls === undefined || toolCalls.length === 0 ? message : { ...message, toolCalls };
}

/** The message with a tool's result. It keeps `isError` and the parts. */
export function toolResultMessage({ id, output, isError, parts }: ToolResult): ToolMessage {
	return { role: 'tool', content: output ?? null, toolCallId: id, isError, ...(parts !== undefined && { parts }) };
}

/** The result that a message holds: the inverse of `toolResultMessage`. */
export function readToolResult({ toolCallId: id, content: output, isError = false, parts }: ToolMessage): ToolResult {
	return { id, output, isError, ...(parts !== undefined && { parts }) };
}

/** The text of a message: of its parts, else of its content, which is JSON if it is no text. */
export function messageText(message: Message): string {
	if ('parts' in message && message.parts !== undefined && message.parts.length > 0) return flattenParts(message.parts);
	if (typeof message.content === 'string') return message.content;
	return message.content === undefined ? '' : JSON.stringify(message.content);
}

/**
 * The calls that the history leaves open: those of the last assistant message without a result, as long as no user
 * message came after it. A run begins with them: the history is the journal.
 */
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

/**
 * Puts a result where it belongs: behind its assistant message, in the order of the calls, in whatever order the tools
 * finish. Changes the array.
 */
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
 * The history as providers take it: a new array in which every call has one result, right behind its assistant message,
 * in the order of the calls. A call without a result gets an `isError` result that says so. A result is left out if it
 * answers no call of the nearest assistant message before it, or one that is answered already.
 */
export function toSendable(messages: readonly Message[]): Message[] {
	const entries: (Message | ReadonlyMap<string, ToolMessage | undefined>)[] = [];
	let answers = new Map<string, ToolMessage | undefined>();
	for (const message of messages) {
		if (message.role === 'tool') {
			const { toolCallId: id } = message;
			if (answers.has(id) && answers.get(id) === undefined) answers.set(id, message);
			continue;
		}
		entries.push(message);
		if (message.role !== 'assistant') continue;
		answers = new Map(message.toolCalls?.map(({ id }) => [id, undefined]));
		entries.push(answers);
	}
	return entries.flatMap((entry) =>
		entry instanceof Map ? [...entry].map(([id, answer]) => answer ?? createNotRun(id)) : [entry],
	);
}

function createNotRun(toolCallId: string): ToolMessage {
	const content = 'This call was not run: the conversation went on without its result.';
	return { role: 'tool', content, toolCallId, isError: true };
}
