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
import type { RequestedAgent } from '../client-tools.ts';
import {
	assertOwnCalls,
	assertPaired,
	type Conversation,
	type PlacedMessage,
	splitConversation,
} from '../conversation.ts';
import { type ClientMessage, type ClientPart, readDataUrl } from './schema.ts';

const fields = { answered: 'tool_call_id', tool: 'function.name' };

/**
 * Translates a client's messages. Throws `invalid_request`, which names the message, if the messages do not fit
 * together, or if they hold calls of the agent's own tools.
 *
 * @param open whether results may come without their calls, because the session has the calls
 */
export function toConversation(
	messages: readonly ClientMessage[],
	{ open, agent }: { readonly open?: boolean; readonly agent?: RequestedAgent } = {},
): Conversation {
	const placed = messages.map(placeMessage);
	if (agent !== undefined) assertOwnCalls(placed, fields, agent);
	return splitConversation(placed, fields, { open });
}

/** Translates messages that nothing answers yet. Throws `invalid_request`, which names the message. */
export function toHistory(messages: readonly ClientMessage[], agent: RequestedAgent): Message[] {
	const placed = messages.map(placeMessage);
	assertOwnCalls(placed, fields, agent);
	assertPaired(placed, fields);
	return placed.map(({ message }) => message);
}

function placeMessage(message: ClientMessage, index: number): PlacedMessage {
	const path = `messages.${index}`;
	const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
	return { message: toMessage(message), path, calls: calls.map((_, at) => `${path}.tool_calls.${at}`) };
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
			return {
				kind: 'file',
				...(readDataUrl(file_data) ?? { url: file_data }),
				...(filename != null && { name: filename }),
			};
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
