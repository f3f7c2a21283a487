import { decodeText, isImage, toDataUrl, toMedia } from '../../../base/part.ts';
import {
	type AssistantMessage,
	type Message,
	type MessagePart,
	messageText,
	renderPart,
	type ToolMessage,
	type UserMessage,
} from '../../../chat/index.ts';
import { claimId, renderMadeImage } from '../../../chat/reply.ts';
import { providerName, type ToolCall } from '../../../tool/index.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { toArguments } from '../../adapter/tools.ts';

/** The differences between the Responses APIs of OpenAI and xAI. */
export interface ResponsesDialect {
	readonly variant: 'openai' | 'xai';
	/** The role of a system message within the conversation. */
	readonly systemRole: 'developer' | 'system';
	/** The levels of effort by model. The first matching entry counts. */
	readonly efforts: readonly (readonly [model: RegExp, steps: string])[];
	/** Whether models without levels of effort return encrypted reasoning. If not, they refuse a request for it. */
	readonly alwaysEncrypts: boolean;
	/** Whether the provider has its own custom tools, which the request does not name. */
	readonly ownCustomTools: boolean;
	readonly reasoningSummary?: string;
}

/**
 * @param added the tools that a call's result brought, by the id of the call. They follow all results of their turn.
 */
export function toInput(
	messages: readonly Message[],
	{ variant, systemRole }: ResponsesDialect,
	takesReasoning: boolean,
	added: ReadonlyMap<string, readonly Json[]> = new Map(),
): Json[] {
	const callIds = new Set<string>();
	/** The answers to the calls of the last assistant message, by their ids. */
	let answers = new Map<string, Json>();
	const itemsFor = (message: Message): Json[] => {
		switch (message.role) {
			case 'system':
				return [{ role: systemRole, content: message.content }];
			case 'user':
				return [{ role: 'user', content: toContent(message) }];
			case 'tool': {
				const answer = answers.get(message.toolCallId);
				const call_id = toCallId(message.toolCallId);
				return [{ type: 'function_call_output', call_id, ...answer, output: toOutput(message) }];
			}
			case 'assistant': {
				const items = toItems(message, variant, takesReasoning);
				answers = new Map();
				return items.map(({ ownId, ...item }) => {
					if (typeof ownId !== 'string') return item;
					const call_id = claimId(callIds, toCallId(ownId));
					const custom = item.type === 'custom_tool_call' && { type: 'custom_tool_call_output' };
					answers.set(ownId, { ...custom, call_id, ...(item.caller ? { caller: item.caller } : {}) });
					return { ...item, call_id };
				});
			}
		}
	};
	const left = new Map(added);
	let behind: Json[] = [];
	return messages.flatMap((message, at) => {
		const items = itemsFor(message);
		if (message.role !== 'tool') return items;
		behind.push(...(left.get(message.toolCallId) ?? []));
		left.delete(message.toolCallId);
		if (behind.length === 0 || messages[at + 1]?.role === 'tool') return items;
		const tools = behind;
		behind = [];
		return [...items, { type: 'additional_tools', role: 'developer', tools }];
	});
}

/** Shortens a call's id to 64 characters. */
function toCallId(id: string): string {
	return id.length <= 64 ? id : providerName(id);
}

function toContent({ parts = [], content }: UserMessage): string | Json[] {
	const items = toParts(parts);
	return items.length > 0 ? items : content;
}

function toParts(parts: readonly MessagePart[]): Json[] {
	return parts.flatMap((part): Json[] => {
		const media = toMedia(part);
		const caption = part.text ? [{ type: 'input_text', text: part.text }] : [];
		if (isImage(media)) {
			const detail = getString(part.meta ?? {}, 'detail');
			return [{ type: 'input_image', image_url: toDataUrl(media), ...(detail && { detail }) }, ...caption];
		}
		if (media?.kind === 'pdf') {
			const { url, name = 'document.pdf' } = media;
			const file = url === undefined ? { filename: name, file_data: toDataUrl(media) } : { file_url: url };
			return [{ type: 'input_file', ...file }, ...caption];
		}
		const text = renderPart(part);
		const whole = media?.kind === 'text' && media.data !== undefined ? `${text}\n\n${decodeText(media.data)}` : text;
		return whole === '' ? [] : [{ type: 'input_text', text: whole }];
	});
}

/**
 * Converts a result to text, or to parts if it has media. The API has no field for a failure, so a text reports it.
 */
function toOutput(message: ToolMessage): string | Json[] {
	const { parts = [], isError } = message;
	const items = toParts(parts);
	if (items.some(({ type }) => type !== 'input_text')) {
		return isError ? [{ type: 'input_text', text: 'Error:' }, ...items] : items;
	}
	const text = messageText(message);
	return isError && !/^error\b/i.test(text) ? `Error: ${text}` : text;
}

/** Converts an assistant's turn: to the original items if the text is unchanged, else to text and calls. */
function toItems(message: AssistantMessage, variant: string, takesReasoning: boolean): Json[] {
	const { toolCalls = [], providerMetadata = {} } = message;
	const calls = new Map(toolCalls.map((call) => [call.id, call]));
	const kept = getObjects(getObject(providerMetadata, variant), 'output');
	const text = messageText(message);
	const texts = message.parts?.map((part) => (part.kind === 'text' ? (part.text ?? '') : ''));
	const ownText = texts?.join('') ?? text;
	const isUnchanged = kept.length > 0 && (ownText === '' || ownText === kept.map(readText).join(''));
	const items = isUnchanged
		? dropUnsendable(kept, takesReasoning, (id) => calls.has(id))
		: text === ''
			? []
			: [{ role: 'assistant', content: text }];
	const own = items.map((item) => {
		const call = isOpen(item) ? calls.get(getString(item, 'call_id') ?? '') : undefined;
		if (call === undefined) return item;
		calls.delete(call.id);
		return { ...item, ...toCallItem(call, item.type === 'custom_tool_call') };
	});
	return [...own, ...[...calls.values()].map((call) => toCallItem(call, false))];
}

/** Converts a call. Arguments that are not JSON are wrapped in JSON, because some servers parse them. */
function toCallItem({ id, name, input }: ToolCall, custom: boolean): Json {
	const about = { name: providerName(name), ownId: id };
	if (custom)
		return { ...about, type: 'custom_tool_call', input: typeof input === 'string' ? input : JSON.stringify(input) };
	return { ...about, type: 'function_call', arguments: JSON.stringify(toArguments(input)) };
}

/** Whether an item is a client's call, whose arguments are in the message's `toolCalls`. */
function isOpen({ type, arguments: args, input }: Json): boolean {
	return (type === 'function_call' && args === undefined) || (type === 'custom_tool_call' && input === undefined);
}

/**
 * Drops the items of a turn that the API would refuse: calls without an answer, and reasoning that is not
 * encrypted or not followed by its result. If reasoning is dropped, its result loses its id, or is also dropped.
 */
export function dropUnsendable(
	items: readonly Json[],
	takesReasoning = true,
	isAnswered: (callId: string) => boolean = () => true,
): Json[] {
	const hasOutput = (item: Json): boolean => {
		const { type, call_id: id } = item;
		if (isOpen(item)) return typeof id === 'string' && isAnswered(id);
		if (type === 'mcp_approval_request') return false;
		const waits = /^((local_)?shell|apply_patch|computer)_call$/.test(`${type}`) || item.execution === 'client';
		return !waits || items.some((other) => other !== item && other.call_id === id);
	};
	let orphan = false;
	return items.flatMap((item, at): Json[] => {
		if (item.type === 'reasoning') {
			const next = items.find((other, index) => index > at && other.type !== 'reasoning');
			// A generated image is sent back as a message without a type. Such a message is not a result of reasoning.
			const hasResult = next?.type !== undefined && hasOutput(next);
			orphan = !takesReasoning || !item.encrypted_content || !hasResult;
			return orphan ? [] : [item];
		}
		if (item.type === undefined) return [item];
		if (!hasOutput(item)) return [];
		if (!orphan) return [item];
		const { id: _, ...rest } = item;
		return item.type === 'message' || isOpen(item) ? [rest] : [];
	});
}

/** Whether an item can be rebuilt from a message's text and calls. */
export function isPlain(item: Json): boolean {
	const fields = plainFields[getString(item, 'type') ?? ''];
	if (fields === undefined) return false;
	const direct = getObject(item, 'caller').type === 'direct';
	const more = Object.entries(item).filter(([key, value]) => value !== null && !fields.includes(key));
	return (
		more.every(([key]) => key === 'caller' && direct) &&
		getObjects(item, 'content').every(
			(part) => part.type === 'output_text' && getObjects(part, 'annotations').length === 0,
		)
	);
}

const plainFields: Readonly<Record<string, readonly string[]>> = {
	message: ['type', 'id', 'status', 'role', 'content'],
	function_call: ['type', 'id', 'status', 'call_id', 'name'],
};

function readText(item: Json): string {
	if (item.type !== 'message') return '';
	return getObjects(item, 'content').map(readVisible).join('');
}

export function readVisible(part: Json): string {
	return getString(part, part.type === 'refusal' ? 'refusal' : 'text') ?? '';
}

/**
 * Removes the results of a file search and the images of a program, because the API does not need them. Replaces a
 * generated image by its name, because the API accepts no image call without its bytes.
 */
export function removeResults(item: Json): Json {
	const { type, file } = item;
	if (type === 'image_generation_call' && typeof file === 'string')
		return { role: 'assistant', content: renderMadeImage(file) };
	if (type === 'code_interpreter_call' && Array.isArray(item.outputs))
		return { ...item, outputs: getObjects(item, 'outputs').filter((output) => output.file === undefined) };
	const { results: _, ...rest } = item;
	return type === 'file_search_call' ? rest : item;
}
