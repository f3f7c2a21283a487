import {
	type AssistantMessage,
	type Message,
	type MessagePart,
	messageText,
	renderPart,
	type ToolMessage,
} from '../../../chat/index.ts';
import { messageOf, RunletError } from '../../../errors.ts';
import { type JsonSchema, providerName } from '../../../tool/index.ts';
import { isJson, type Json, object, objects, string } from '../../adapter/json.ts';
import { mediaOf, textOf } from '../../adapter/parts.ts';
import type { ModelRequest } from '../../adapter/register.ts';

/** A request in the words of the Messages API. `cache`: how long what is marked stays in the prompt cache. */
export async function messagesBody(request: ModelRequest, cache: '5m' | '1h' | false) {
	const { model, messages, tools, maxOutputTokens, outputSchema, stream } = request;
	const mark = cache === false ? {} : { cache_control: { type: 'ephemeral', ...(cache === '1h' && { ttl: cache }) } };
	const system = [request.system, ...messages.filter(({ role }) => role === 'system').map(messageText)]
		.filter((text) => text !== undefined && text !== '')
		.join('\n\n');
	const maxTokens = maxOutputTokens ?? longestReply(model);
	const { thinking, effort } = thinkingOf(request, maxTokens);
	const format = outputSchema && { type: 'json_schema', schema: await closedSchema(outputSchema) };
	const wire = messagesOf(messages);
	markLast(wire, mark);
	return {
		model,
		max_tokens: maxTokens,
		...(system !== '' && { system: [{ type: 'text', text: system, ...mark }] }),
		messages: wire,
		...(tools.length > 0 && {
			tools: tools.map(({ name, description, inputSchema }, index) => ({
				name,
				description,
				input_schema: { type: 'object', ...inputSchema },
				...(index === tools.length - 1 && mark),
			})),
			...toolChoiceOf(request),
		}),
		...(thinking && { thinking }),
		...((format || effort) && { output_config: { ...(effort && { effort }), ...(format && { format }) } }),
		...(stream && { stream }),
	};
}

/** A schema as structured output takes it: closed, and what it does not know said in the description. */
async function closedSchema(schema: JsonSchema): Promise<unknown> {
	const { transformJSONSchema } = await import('../../adapter/anthropic-sdk.ts');
	try {
		return transformJSONSchema({ ...schema });
	} catch (error) {
		throw new RunletError('invalid_request', `outputSchema: ${messageOf(error)}`, { field: 'outputSchema' });
	}
}

function toolChoiceOf({ toolChoice }: ModelRequest): Json {
	if (toolChoice === undefined) return {};
	if (typeof toolChoice === 'object') return { tool_choice: { type: 'tool', name: toolChoice.name } };
	return { tool_choice: { type: toolChoice === 'required' ? 'any' : toolChoice } };
}

/** Major and minor version in a model's name: 4.5 of `claude-sonnet-4-5-20250929`; 99 where it names none. */
function versionOf(model: string): number {
	const [, major, minor = '0'] = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i.exec(model) ?? [];
	return major === undefined ? 99 : Number(`${major}.${minor}`);
}

/** The API wants a limit. Where nobody sets one it is what every model of that age can give. */
function longestReply(model: string): number {
	const version = versionOf(model);
	return version >= 4 ? 32_000 : version >= 3.5 ? 8_192 : 4_096;
}

const budgets = { minimal: 1_024, low: 2_048, medium: 8_192, high: 16_384, xhigh: 24_576, max: 31_000 };

/** Models since 4.6 think by themselves, with an effort; those since 3.7 within a budget. Never with a forced tool: the API refuses both. */
function thinkingOf({ model, reasoningEffort, toolChoice }: ModelRequest, maxTokens: number) {
	const version = versionOf(model);
	if (reasoningEffort === undefined || version < 3.7) return {};
	const forced = toolChoice === 'required' || typeof toolChoice === 'object';
	if (reasoningEffort === 'none') return { thinking: { type: 'disabled' } };
	if (version >= 4.6) {
		const effort =
			reasoningEffort === 'minimal' ? 'low' : reasoningEffort === 'xhigh' && version < 4.7 ? 'high' : reasoningEffort;
		return { effort, thinking: forced ? undefined : { type: 'adaptive' } };
	}
	const budget = Math.min(budgets[reasoningEffort], maxTokens - 1_024);
	return forced || budget < 1_024 ? {} : { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** Content blocks of one role, in the order of the conversation; neighbours of one role are one message. */
function messagesOf(messages: readonly Message[]): { role: string; content: Json[] }[] {
	const wire: { role: string; content: Json[] }[] = [];
	for (const message of messages) {
		if (message.role === 'system') continue;
		const role = message.role === 'assistant' ? 'assistant' : 'user';
		const blocks =
			message.role === 'user'
				? blocksOf(message.parts ?? [{ kind: 'text', text: message.content }])
				: message.role === 'tool'
					? [toolResultOf(message)]
					: assistantBlocks(message);
		const last = wire.at(-1);
		if (last?.role === role) last.content.push(...blocks);
		else if (blocks.length > 0) wire.push({ role, content: blocks });
	}
	return wire;
}

/** The newest message may be read from the cache by the next turn. Thinking cannot be marked. */
function markLast(wire: { readonly content: Json[] }[], mark: Json): void {
	const content = wire.at(-1)?.content;
	const block = content?.at(-1);
	if (content === undefined || block === undefined || !markable.has(string(block, 'type') ?? '')) return;
	content[content.length - 1] = { ...block, ...mark };
}

const markable: ReadonlySet<string> = new Set(['text', 'image', 'document', 'tool_use', 'tool_result']);

function blocksOf(parts: readonly MessagePart[]): Json[] {
	return parts.flatMap((part): Json[] => {
		const media = mediaOf(part);
		const source =
			media?.url === undefined
				? { type: 'base64', media_type: media?.mime, data: media?.data }
				: { type: 'url', url: media.url };
		const caption = part.text ? [{ type: 'text', text: part.text }] : [];
		const title = media?.name === undefined ? {} : { title: media.name };
		if (media?.kind === 'image') return [{ type: 'image', source }, ...caption];
		if (media?.kind === 'pdf') return [{ type: 'document', source, ...title }, ...caption];
		if (media?.kind === 'text' && media.data !== undefined)
			return [
				{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: textOf(media.data) }, ...title },
				...caption,
			];
		const text = renderPart(part);
		return text.trim() === '' ? [] : [{ type: 'text', text }];
	});
}

function toolResultOf(message: ToolMessage): Json {
	const { toolCallId, isError, parts = [] } = message;
	const text = messageText(message);
	const content = parts.some((part) => mediaOf(part) !== undefined) ? blocksOf(parts) : text;
	return {
		type: 'tool_result',
		tool_use_id: providerName(toolCallId),
		content: content === '' && isError ? 'error' : content,
		...(isError && { is_error: true }),
	};
}

/** An assistant's turn: as the API gave it, where it was Anthropic's and holds more than text and calls. */
function assistantBlocks({ content, toolCalls = [], providerMetadata = {} }: AssistantMessage): Json[] {
	const calls = new Map(
		toolCalls.map(({ id, name, input }) => [
			id,
			{
				type: 'tool_use',
				id: providerName(id),
				name: providerName(name),
				input: isJson(input) ? input : { invalid_json: input },
			},
		]),
	);
	const kept = objects(object(providerMetadata, 'anthropic'), 'content');
	if (kept.length === 0) {
		return [...(content.trim() === '' ? [] : [{ type: 'text', text: content }]), ...calls.values()];
	}
	return kept.flatMap((block) => {
		if (block.type !== 'tool_use') return [block];
		const call = calls.get(string(block, 'id') ?? '');
		return call === undefined ? [] : [{ ...block, ...call }];
	});
}
