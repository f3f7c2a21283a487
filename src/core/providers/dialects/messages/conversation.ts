import { decodeText, isImage, toMedia } from '../../../base/part.ts';
import {
	type AssistantMessage,
	type Message,
	type MessagePart,
	messageText,
	renderPart,
	type ToolMessage,
} from '../../../chat/index.ts';
import { providerName } from '../../../tool/index.ts';
import type { WireTool } from '../../adapter/adapter.ts';
import { dropFirstSystem, toSystemText } from '../../adapter/body.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { toArguments } from '../../adapter/tools.ts';

export interface WireMessage {
	readonly role: string;
	readonly content: Json[];
}

/**
 * Converts messages to content blocks in the same order, without the first system messages. Joins neighbours of one
 * role. A later system message stays between the user's turn and the assistant's turn if the model accepts it there,
 * else it becomes a user message. At the start it would invalidate the cache and later thinking.
 *
 * @param found the tools that a call's result brought, by the id of the call
 */
export function toMessages(
	messages: readonly Message[],
	systemInPlace: boolean,
	found: ReadonlyMap<string, readonly WireTool[]>,
): WireMessage[] {
	const wire: WireMessage[] = [];
	let waiting: string[] = [];
	const left = new Map(found);
	/** The texts of results that introduced tools. They follow all results of their turn. */
	let behind: Json[] = [];
	const add = (role: string, blocks: readonly Json[]): void => {
		if (blocks.length === 0) return;
		const last = wire.at(-1);
		// An earlier request ended with the previous turn, and sent that turn with its end trimmed.
		if (role === 'assistant') trimLast(wire);
		if (last?.role === role) last.content.push(...blocks);
		else wire.push({ role, content: [...blocks] });
	};
	const addWaiting = (): void => {
		if (waiting.length === 0 || wire.at(-1)?.role !== 'user') return;
		wire.push({ role: 'system', content: [{ type: 'text', text: waiting.join('\n\n') }] });
		waiting = [];
	};
	const flush = (): void => {
		add('user', behind);
		behind = [];
	};
	for (const message of dropFirstSystem(messages)) {
		if (message.role !== 'tool') flush();
		switch (message.role) {
			case 'system':
				if (message.content.trim() === '') break;
				if (systemInPlace) waiting.push(message.content);
				else add('user', toText(toSystemText(message.content)));
				break;
			case 'user':
				add('user', message.parts === undefined ? toText(message.content) : toBlocks(message.parts));
				break;
			case 'tool': {
				const tools = left.get(message.toolCallId) ?? [];
				left.delete(message.toolCallId);
				add('user', [toToolResult(message, tools)]);
				if (tools.length > 0) behind.push(...toResultBlocks(message));
				break;
			}
			case 'assistant': {
				const blocks = toAssistantBlocks(message);
				if (blocks.length > 0) addWaiting();
				add('assistant', blocks);
			}
		}
	}
	flush();
	addWaiting();
	add('user', toText(waiting.map(toSystemText).join('\n\n')));
	trimLast(wire);
	return wire;
}

/** Trims the end of an assistant's turn if it is the last turn. The API refuses spaces there. */
function trimLast(wire: readonly WireMessage[]): void {
	const last = wire.at(-1);
	const block = last?.content.at(-1);
	const text = getString(block ?? {}, 'text');
	if (last?.role !== 'assistant' || text === undefined) return;
	last.content[last.content.length - 1] = { ...block, text: text.trimEnd() };
}

function toBlocks(parts: readonly MessagePart[]): Json[] {
	return parts.flatMap((part): Json[] => {
		const media = toMedia(part);
		const source =
			media?.url === undefined
				? { type: 'base64', media_type: media?.mime, data: media?.data }
				: { type: 'url', url: media.url };
		const caption = part.text ? [{ type: 'text', text: part.text }] : [];
		const title = media?.name === undefined ? {} : { title: media.name };
		if (isImage(media)) return [{ type: 'image', source }, ...caption];
		if (media?.kind === 'pdf') return [{ type: 'document', source, ...title }, ...caption];
		if (media?.kind === 'text' && media.data !== undefined)
			return [
				{
					type: 'document',
					source: { type: 'text', media_type: 'text/plain', data: decodeText(media.data) },
					...title,
				},
				...caption,
			];
		return toText(renderPart(part));
	});
}

/** Converts a text. The API accepts no empty texts. */
function toText(text: string): Json[] {
	return text.trim() === '' ? [] : [{ type: 'text', text }];
}

/** Converts a result. The API allows only text in a failed result, so other content begins with `Error:` instead. */
function toToolResult(message: ToolMessage, found: readonly WireTool[]): Json {
	const { toolCallId, isError, parts = [] } = message;
	// The API accepts no other content beside references.
	if (found.length > 0) {
		const content = found.map(({ name }) => ({ type: 'tool_reference', tool_name: name }));
		return { type: 'tool_result', tool_use_id: providerName(toolCallId), content };
	}
	const text = messageText(message);
	const blocks = toBlocks(parts);
	const rich = blocks.some(({ type }) => type !== 'text');
	const content = isError ? [{ type: 'text', text: 'Error:' }, ...blocks] : blocks;
	return {
		type: 'tool_result',
		tool_use_id: providerName(toolCallId),
		content: rich ? content : text === '' && isError ? 'error' : text,
		...(isError && !rich && { is_error: true }),
	};
}

/** Converts a result's content to blocks that are sent after the result, which holds only references. */
function toResultBlocks(message: ToolMessage): Json[] {
	const { parts = [], isError } = message;
	const blocks = parts.length > 0 ? toBlocks(parts) : toText(messageText(message));
	return isError ? [...toText('Error:'), ...blocks] : blocks;
}

/** Converts an assistant's turn: to the original blocks, if it came from Anthropic and has more than text and calls. */
function toAssistantBlocks(message: AssistantMessage): Json[] {
	const { toolCalls = [], providerMetadata = {} } = message;
	const content = messageText(message);
	const kept = getObjects(getObject(providerMetadata, 'anthropic'), 'content');
	if (kept.length === 0 && toolCalls.length === 0) return toText(content);
	const calls = new Map(
		toolCalls.map(({ id, name, input }) => [
			id,
			{
				type: 'tool_use',
				id: providerName(id),
				name: providerName(name),
				input: toArguments(input),
			},
		]),
	);
	if (kept.length === 0) return [...toText(content), ...calls.values()];
	return kept.flatMap((block): Json[] => {
		if (block.type === 'text') return toTextBlocks(block);
		if (block.type !== 'tool_use') return [block];
		const call = calls.get(getString(block, 'id') ?? '');
		return call === undefined ? [] : [{ ...block, ...call }];
	});
}

/** Removes what the API sends but does not accept: empty texts, and the files of citations. */
function toTextBlocks(block: Json): Json[] {
	if (block.text === '') return [];
	if (!Array.isArray(block.citations)) return [block];
	return [{ ...block, citations: getObjects(block, 'citations').map(({ file_id: _, ...citation }) => citation) }];
}

/** Returns the mark of a block. The API keeps the request up to the mark in its cache. */
export function createMark(cache: '5m' | '1h' | false): Json {
	return cache === false ? {} : { cache_control: { type: 'ephemeral', ...(cache === '1h' && { ttl: cache }) } };
}

/**
 * Marks the newest message for the next turn. Also marks the end of the previous request, because this request
 * reads its cache: the API looks for a cached beginning at most 20 blocks before a mark, and a turn may have
 * more blocks. The API accepts four marks. The tools and the system prompt use two of these marks.
 */
export function markMessages(wire: readonly WireMessage[], mark: Json): void {
	markUpTo(wire, wire.length - 1, mark);
	const answer = wire.findLastIndex(({ role }) => role === 'assistant');
	if (answer > 0 && answer < wire.length - 1) markUpTo(wire, answer - 1, mark);
}

/** Marks the last block that can be marked, in this message or in an earlier message. */
function markUpTo(wire: readonly WireMessage[], end: number, mark: Json): void {
	for (let at = end; at >= 0; at--) {
		const message = wire[at];
		if (message === undefined || message.role === 'system') continue;
		const place = message.content.findLastIndex((block) => markable.has(getString(block, 'type') ?? ''));
		if (place === -1) continue;
		message.content[place] = { ...message.content[place], ...mark };
		return;
	}
}

/** The types of blocks that can be marked. Thinking cannot be marked. */
const markable: ReadonlySet<string> = new Set(['text', 'image', 'document', 'tool_use', 'tool_result']);
