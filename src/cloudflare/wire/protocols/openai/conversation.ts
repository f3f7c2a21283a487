import { RunletError } from '../../../../core/base/errors.ts';
import {
	assistantMessage,
	type Message,
	type MessagePart,
	type ToolMessage,
	textPart,
	type UserMessage,
	userMessage,
} from '../../../../core/chat/index.ts';
import { parseToolInput } from '../../../../core/tool/call.ts';
import type { ToolCall } from '../../../../core/tool/index.ts';
import { type ClientMessage, type ClientPart, readDataUrl } from './schema.ts';

export interface Conversation {
	/** The messages before `results` and `message`. */
	readonly history: readonly Message[];
	/** Results of the client's own tools, for the calls of the newest answer. */
	readonly results: readonly ToolMessage[];
	/** The new message of the user. */
	readonly message: UserMessage | undefined;
}

/**
 * Translates a client's messages. The run answers what comes after the last assistant message. Throws
 * `invalid_request`, which names the message, if calls and results do not belong together, or if there is nothing to
 * answer.
 *
 * @param open whether results may come without their calls, because the session has the calls
 */
export function toConversation(messages: readonly ClientMessage[], { open = false } = {}): Conversation {
	assertPaired(messages, open);
	const behind = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
	const rest = messages.slice(behind);
	const system = rest.filter(({ role }) => role === 'system' || role === 'developer').map(toMessage);
	const results = rest.flatMap((message) => (message.role === 'tool' ? [toToolMessage(message)] : []));
	const inputs = rest.flatMap((message) => (message.role === 'user' ? [toUserMessage(message)] : []));
	if (results.length === 0 && inputs.length === 0)
		throw createRefusal(messages.length - 1, 'role', "the last message must be a user's, or a tool's result");
	if (inputs.length > 0 && inputs.every(({ content }) => content.trim() === ''))
		throw createRefusal(
			messages.findLastIndex(({ role }) => role === 'user'),
			'content',
			'must not be empty',
		);
	// A turn's results must come right after the turn, so a system message between them is moved before the turn.
	const front = messages.slice(0, behind).map(toMessage);
	const turn = results.length > 0 ? front.splice(-1) : [];
	return {
		history: [...front, ...system, ...turn],
		results,
		message: inputs.length > 0 ? joinUserMessages(inputs) : undefined,
	};
}

function joinUserMessages(messages: readonly UserMessage[]): UserMessage {
	const [first, ...more] = messages;
	if (first !== undefined && more.length === 0) return first;
	if (messages.every(({ parts }) => parts === undefined))
		return userMessage(messages.map(({ content }) => content).join('\n\n'));
	return userMessage(messages.flatMap(({ content, parts }) => parts ?? [{ kind: 'text' as const, text: content }]));
}

function toMessage(message: ClientMessage): Message {
	switch (message.role) {
		case 'user':
			return toUserMessage(message);
		case 'tool':
			return toToolMessage(message);
		case 'assistant': {
			const { content, refusal, tool_calls } = message;
			const calls = (tool_calls ?? []).map(
				({ id, function: { name, arguments: input } }): ToolCall => ({ id, name, input: parseToolInput(input) }),
			);
			return assistantMessage(toText(content ?? refusal ?? ''), calls);
		}
		default:
			return { role: 'system', content: toText(message.content) };
	}
}

function toUserMessage({ content }: Extract<ClientMessage, { role: 'user' }>): UserMessage {
	return userMessage(typeof content === 'string' ? content : content.map(toPart));
}

function toToolMessage({ tool_call_id, content }: Extract<ClientMessage, { role: 'tool' }>): ToolMessage {
	return { role: 'tool', content: toText(content), toolCallId: tool_call_id, isError: false };
}

/** Checks that each result follows the turn of its call, once, and that the newest turn has all results or none. */
function assertPaired(messages: readonly ClientMessage[], open: boolean): void {
	/** The calls of the last turn that have no result yet. */
	let calls: Map<string, string> | undefined = open ? undefined : new Map();
	let results = 0;
	for (const [index, message] of messages.entries()) {
		if (message.role === 'tool') {
			results++;
			if (calls !== undefined && !calls.delete(message.tool_call_id))
				throw createRefusal(index, 'tool_call_id', `answers no open call of the assistant message in front of it`);
		} else if (message.role === 'assistant') {
			calls = new Map();
			results = 0;
			for (const [at, { id }] of (message.tool_calls ?? []).entries()) {
				if (calls.has(id)) throw createRefusal(index, `tool_calls.${at}.id`, 'another call of this message has it');
				calls.set(id, `messages.${index}.tool_calls.${at}`);
			}
		} else if (message.role === 'user' && results === 0) calls = new Map();
	}
	const [missing] = calls?.values() ?? [];
	if (results > 0 && missing !== undefined) {
		const field = `${missing}.id`;
		throw new RunletError('invalid_request', `${field}: has no result. Answer every call of the message.`, { field });
	}
}

function createRefusal(index: number, field: string, why: string): RunletError {
	const path = `messages.${index}.${field}`;
	return new RunletError('invalid_request', `${path}: ${why}.`, { field: path });
}

function toPart(part: ClientPart): MessagePart {
	switch (part.type) {
		case 'text':
			return textPart(part.text);
		case 'image_url': {
			const { url, detail } = part.image_url;
			return { kind: 'image', ...(readDataUrl(url) ?? { url }), ...(detail != null && { meta: { detail } }) };
		}
		case 'input_audio': {
			const { data, format } = part.input_audio;
			return { kind: 'audio', mime: format === 'mp3' ? 'audio/mpeg' : 'audio/wav', data };
		}
		case 'file': {
			const { file_data, filename } = part.file;
			return { kind: 'file', ...readDataUrl(file_data), ...(filename != null && { name: filename }) };
		}
	}
}

type TextLike =
	| { readonly type: 'text'; readonly text: string }
	| { readonly type: 'refusal'; readonly refusal: string };

function toText(content: string | readonly TextLike[]): string {
	if (typeof content === 'string') return content;
	return content.map((part) => (part.type === 'text' ? part.text : part.refusal)).join('\n\n');
}
