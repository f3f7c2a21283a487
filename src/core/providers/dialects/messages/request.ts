import {
	type AssistantMessage,
	type Message,
	type MessagePart,
	messageText,
	type ReasoningEffort,
	renderPart,
	type ToolMessage,
} from '../../../chat/index.ts';
import { RunletError, toMessageText } from '../../../ground/errors.ts';
import { isRecord } from '../../../ground/json.ts';
import { decodeText, isImage, toMedia } from '../../../ground/media.ts';
import { type JsonSchema, providerName } from '../../../tool/index.ts';
import { mapInner } from '../../../tool/json-schema/keywords.ts';
import type { ModelRequest } from '../../adapter/adapter.ts';
import { roundEffort } from '../../adapter/effort.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';

/** Creates the body of a Messages API request. `cache` is how long the marked prompt stays in the cache. */
export async function toMessagesBody(request: ModelRequest, cache: '5m' | '1h' | false) {
	const { model, messages, tools, maxOutputTokens, outputSchema, stream } = request;
	const mark = cache === false ? {} : { cache_control: { type: 'ephemeral', ...(cache === '1h' && { ttl: cache }) } };
	const { wire, before } = toMessages(messages, takesSystemInPlace(model));
	const system = [request.system, ...before].filter((text) => text !== undefined && text !== '').join('\n\n');
	const container = findContainer(messages);
	const maxTokens = maxOutputTokens ?? findLongestReply(model);
	const { thinking, effort } = toThinking(request, maxTokens);
	const format = outputSchema && { type: 'json_schema', schema: await closeSchema(outputSchema) };
	markLast(wire, mark);
	return {
		model,
		max_tokens: maxTokens,
		...(system !== '' && { system: [{ type: 'text', text: system, ...mark }] }),
		messages: wire,
		...(container !== undefined && { container: { id: container } }),
		...(tools.length > 0 && {
			tools: tools.map(({ name, description, inputSchema }, index) => ({
				name,
				description,
				input_schema: { type: 'object', ...inputSchema },
				...(index === tools.length - 1 && mark),
			})),
			...toToolChoice(request),
		}),
		...(thinking && { thinking }),
		...((format || effort) && { output_config: { ...(effort && { effort }), ...(format && { format }) } }),
		...(stream && { stream }),
	};
}

/** Removes the model's thinking from a request's body. Leaves out a turn that had nothing else. */
export function removeThinking(body: Json): Json {
	const messages = getObjects(body, 'messages').flatMap((message) => {
		const content = getObjects(message, 'content').filter(({ type }) => !/^(redacted_)?thinking$/.test(`${type}`));
		return content.length === 0 ? [] : [{ ...message, content }];
	});
	return { ...body, messages };
}

/** Converts a schema for structured output: objects are closed, and unknown keywords move to the description. */
async function closeSchema(schema: JsonSchema): Promise<unknown> {
	const { transformJSONSchema } = await import('../../adapter/anthropic-sdk.ts');
	try {
		return transformJSONSchema(removeClosedLists(schema));
	} catch (error) {
		throw new RunletError('invalid_request', `outputSchema: ${toMessageText(error)}`, { field: 'outputSchema' });
	}
}

/** Removes lists of exact items, which the API does not know. The whole schema checks the answer later. */
function removeClosedLists(schema: JsonSchema): Record<string, unknown> {
	const { items, ...rest } = mapInner(schema, removeClosedLists);
	return typeof items === 'boolean' || items === undefined ? rest : { ...rest, items };
}

function toToolChoice({ toolChoice, parallelToolCalls }: ModelRequest): Json {
	const single = parallelToolCalls === false && toolChoice !== 'none' ? { disable_parallel_tool_use: true } : undefined;
	if (toolChoice === undefined) return single ? { tool_choice: { type: 'auto', ...single } } : {};
	if (typeof toolChoice === 'object') return { tool_choice: { type: 'tool', name: toolChoice.name, ...single } };
	return { tool_choice: { type: toolChoice === 'required' ? 'any' : toolChoice, ...single } };
}

/**
 * Reads the major and minor version in a model's name: 4.5 of `claude-sonnet-4-5-20250929`. Returns 99 if there is
 * none.
 */
function readVersion(model: string): number {
	const [, major, minor = '0'] = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i.exec(model) ?? [];
	return major === undefined ? 99 : Number(`${major}.${minor}`);
}

/** The default limit of a reply, because the API requires one: what every model of that age can produce. */
function findLongestReply(model: string): number {
	const version = readVersion(model);
	return version >= 4 ? 32_000 : version >= 3.5 ? 8_192 : 4_096;
}

const olderEfforts: readonly ReasoningEffort[] = ['low', 'medium', 'high', 'max'];
const newerEfforts: readonly ReasoningEffort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

const budgets = { minimal: 1_024, low: 2_048, medium: 8_192, high: 16_384, xhigh: 24_576, max: 31_000 };

/**
 * Models since 4.6 choose how much to think by an effort, and those since 3.7 think within a budget. Thinking is off
 * with a forced tool, because the API refuses both
 * (platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting).
 */
function toThinking({ model, reasoningEffort, toolChoice }: ModelRequest, maxTokens: number) {
	const version = readVersion(model);
	if (reasoningEffort === undefined || version < 3.7) return {};
	const forced = toolChoice === 'required' || typeof toolChoice === 'object';
	if (reasoningEffort === 'none') {
		// Some models always think. Sonnet since 5.5 has another word for no thinking.
		const canStop = /haiku/i.test(model) || (version < 5.5 && !/fable|mythos/i.test(model));
		if (canStop) return { thinking: { type: 'disabled' } };
		return /sonnet/i.test(model) ? { thinking: { type: 'between_tools' } } : { effort: 'low' };
	}
	if (version >= 4.6) {
		const steps = version < 4.7 || /mythos-preview/i.test(model) ? olderEfforts : newerEfforts;
		const effort = roundEffort(reasoningEffort, steps);
		// Models since 4.7 show their thinking only on request.
		const shown = version >= 4.7 && { display: 'summarized' };
		return { effort, thinking: forced ? undefined : { type: 'adaptive', ...shown } };
	}
	const budget = Math.min(budgets[reasoningEffort], maxTokens - 1_024);
	return forced || budget < 1_024 ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** Whether a model takes system messages within the conversation: Sonnet and Haiku since 5.5, others since 4.8. */
function takesSystemInPlace(model: string): boolean {
	const version = readVersion(model);
	return version >= 5.5 ? version < 99 : version >= 4.8 && !/sonnet/i.test(model);
}

/** Finds the container of the current turn. A program of the model may wait in it for the results of its calls. */
function findContainer(messages: readonly Message[]): string | undefined {
	const last = messages.findLast(({ role }) => role !== 'tool' && role !== 'system');
	return last?.role === 'assistant'
		? getString(getObject(last.providerMetadata ?? {}, 'anthropic'), 'container')
		: undefined;
}

/**
 * Converts messages to content blocks in the same order. Neighbours of one role are joined. `before` holds the text of
 * system messages that have no place in the conversation. A model that takes them in place gets them between the user's
 * turn and the assistant's, where the API takes them. At the front they would invalidate the thinking that follows.
 */
function toMessages(messages: readonly Message[], systemInPlace: boolean) {
	const wire: { role: string; content: Json[] }[] = [];
	const before: string[] = [];
	let waiting: string[] = [];
	const findPlace = (): void => {
		if (waiting.length === 0 || wire.at(-1)?.role !== 'user') return;
		wire.push({ role: 'system', content: [{ type: 'text', text: waiting.join('\n\n') }] });
		waiting = [];
	};
	for (const message of messages) {
		if (message.role === 'system') {
			if (!systemInPlace || wire.length === 0) before.push(message.content);
			else if (message.content.trim() !== '') waiting.push(message.content);
			continue;
		}
		const role = message.role === 'assistant' ? 'assistant' : 'user';
		const blocks =
			message.role === 'user'
				? message.parts === undefined
					? toText(message.content)
					: toBlocks(message.parts)
				: message.role === 'tool'
					? [toToolResult(message)]
					: toAssistantBlocks(message);
		if (blocks.length === 0) continue;
		if (role === 'assistant') findPlace();
		const last = wire.at(-1);
		if (last?.role === role) last.content.push(...blocks);
		else wire.push({ role, content: blocks });
	}
	findPlace();
	trimLast(wire);
	return { wire, before: [...before, ...waiting] };
}

/** Trims the end of an answer that continues. The API refuses spaces there. */
function trimLast(wire: readonly { readonly role: string; readonly content: Json[] }[]): void {
	const last = wire.at(-1);
	const block = last?.content.at(-1);
	const text = getString(block ?? {}, 'text');
	if (last?.role !== 'assistant' || text === undefined) return;
	last.content[last.content.length - 1] = { ...block, text: text.trimEnd() };
}

/** Marks the newest message, so that the next turn reads it from the cache. Thinking cannot be marked. */
function markLast(wire: readonly { readonly role: string; readonly content: Json[] }[], mark: Json): void {
	const content = wire.findLast(({ role }) => role !== 'system')?.content;
	const block = content?.at(-1);
	if (content === undefined || block === undefined || !markable.has(getString(block, 'type') ?? '')) return;
	content[content.length - 1] = { ...block, ...mark };
}

const markable: ReadonlySet<string> = new Set(['text', 'image', 'document', 'tool_use', 'tool_result']);

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

/** Converts a text. The API takes no empty ones. */
function toText(text: string): Json[] {
	return text.trim() === '' ? [] : [{ type: 'text', text }];
}

/**
 * Converts a result. The API allows only text in a failed result, so a failed result with an image says it in its text.
 */
function toToolResult(message: ToolMessage): Json {
	const { toolCallId, isError, parts = [] } = message;
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

/**
 * Converts an assistant's turn: to the original blocks, if it came from Anthropic and holds more than text and calls.
 */
function toAssistantBlocks({ content, toolCalls = [], providerMetadata = {} }: AssistantMessage): Json[] {
	const kept = getObjects(getObject(providerMetadata, 'anthropic'), 'content');
	if (kept.length === 0 && toolCalls.length === 0) return toText(content);
	const calls = new Map(
		toolCalls.map(({ id, name, input }) => [
			id,
			{
				type: 'tool_use',
				id: providerName(id),
				name: providerName(name),
				input: isRecord(input) ? input : { invalid_json: input },
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

/**
 * Converts a text to a form that the API takes back: it sends empty texts and the files of citations, but does not take
 * them.
 */
function toTextBlocks(block: Json): Json[] {
	if (block.text === '') return [];
	if (!Array.isArray(block.citations)) return [block];
	return [{ ...block, citations: getObjects(block, 'citations').map(({ file_id: _, ...citation }) => citation) }];
}
