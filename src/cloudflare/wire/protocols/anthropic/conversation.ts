import { joinBytes, toBase64 } from '../../../../core/base/bytes.ts';
import {
	assistantMessage,
	flattenParts,
	type MessagePart,
	type ToolMessage,
	textPart,
	userMessage,
} from '../../../../core/chat/index.ts';
import type { RequestedAgent } from '../client-tools.ts';
import { assertOwnCalls, type Conversation, type PlacedMessage, splitConversation } from '../conversation.ts';
import type { AnthropicMessage, CountRequest, ResultContent, ToolResultBlock, UserBlock } from './schema.ts';

const fields = { answered: 'tool_use_id', tool: 'name' };

/**
 * Translates a client's messages. Throws `invalid_request`, which names the block, if the messages do not fit together,
 * or if they hold calls of the agent's own tools.
 *
 * @param open whether results may come without their calls, because the session has the calls
 */
export function toConversation(
	request: Pick<CountRequest, 'system' | 'messages'>,
	{ open, agent }: { readonly open: boolean; readonly agent: RequestedAgent },
): Conversation {
	const placed = placeMessages(request);
	assertOwnCalls(placed, fields, agent);
	return splitConversation(placed, fields, { open });
}

function placeMessages({ system, messages }: Pick<CountRequest, 'system' | 'messages'>): PlacedMessage[] {
	const text = toText(system ?? '');
	const first: PlacedMessage[] = text === '' ? [] : [{ message: { role: 'system', content: text }, path: 'system' }];
	return [...first, ...messages.flatMap((message, index) => placeMessage(message, `messages.${index}`))];
}

/** Splits a message. Results come first, because they answer the message before. */
function placeMessage({ role, content }: AnthropicMessage, path: string): readonly PlacedMessage[] {
	if (role === 'system') return [{ message: { role, content: toText(content) }, path }];
	if (typeof content === 'string')
		return [{ message: role === 'user' ? userMessage(content) : assistantMessage(content), path }];
	const at = (index: number) => `${path}.content.${index}`;
	if (role === 'assistant') {
		const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
		const calls = content.flatMap((block, index) =>
			block.type === 'tool_use'
				? [{ call: { id: block.id, name: block.name, input: block.input }, path: at(index) }]
				: [],
		);
		const message = assistantMessage(
			text,
			calls.map(({ call }) => call),
		);
		return [{ message, path, calls: calls.map((one) => one.path) }];
	}
	const results = content.flatMap((block, index) =>
		block.type === 'tool_result' ? [{ message: toToolMessage(block), path: at(index) }] : [],
	);
	const parts = content.flatMap(toParts);
	return parts.length === 0 ? results : [...results, { message: userMessage(parts), path }];
}

function toToolMessage({ tool_use_id, content, is_error }: ToolResultBlock): ToolMessage {
	const about = { role: 'tool', toolCallId: tool_use_id, isError: is_error ?? false } as const;
	if (typeof content === 'string' || content == null) return { ...about, content: content ?? '' };
	const parts = content.flatMap(toParts);
	const isText = parts.every(({ kind }) => kind === 'text');
	return { ...about, content: flattenParts(parts), ...(!isText && { parts }) };
}

function toParts(block: UserBlock | Exclude<ResultContent, string>[number]): readonly MessagePart[] {
	switch (block.type) {
		case 'text':
			return [textPart(block.text)];
		case 'image': {
			const { source } = block;
			if (source.type === 'url') return [{ kind: 'image', url: source.url }];
			return [{ kind: 'image', mime: source.media_type, data: source.data }];
		}
		case 'document': {
			const { title, context, source } = block;
			const name = title == null ? {} : { name: title };
			const about = context == null || context === '' ? [] : [textPart(context)];
			if (source.type === 'text') return [...about, createTextFile(source.data, name)];
			if (source.type === 'url') return [...about, { kind: 'file', url: source.url, mime: 'application/pdf', ...name }];
			if (source.type === 'base64')
				return [...about, { kind: 'file', mime: source.media_type, data: source.data, ...name }];
			const { content } = source;
			if (typeof content === 'string') return [...about, createTextFile(content, name)];
			return [
				...about,
				...content.flatMap((one) => (one.type === 'text' ? [createTextFile(one.text, name)] : toParts(one))),
			];
		}
		case 'search_result':
			return [createTextFile(`${block.source}\n\n${toText(block.content)}`, { name: block.title })];
		case 'tool_result':
			return [];
	}
}

/** Text of a document is a file, because it is not the words of the user. */
function createTextFile(text: string, name: { readonly name?: string }): MessagePart {
	return { kind: 'file', mime: 'text/plain', data: toBase64(joinBytes(text)), ...name };
}

function toText(content: string | readonly { readonly text: string }[]): string {
	return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n\n');
}
