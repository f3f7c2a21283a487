import { createFieldError, toMessageText } from '../../../base/errors.ts';
import type { Message, ReasoningEffort } from '../../../chat/index.ts';
import type { JsonSchema } from '../../../tool/index.ts';
import { mapInner } from '../../../tool/json-schema/keywords.ts';
import type { ModelRequest, WireTool } from '../../adapter/adapter.ts';
import { joinSystem, roundEffort } from '../../adapter/body.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { groupFoundTools, toToolFields } from '../../adapter/tools.ts';
import { createMark, markMessages, toMessages } from './conversation.ts';

/** @param cache how long the marked prompt stays in the cache */
export async function toMessagesBody(request: ModelRequest, cache: '5m' | '1h' | false) {
	const { model, messages, tools, maxOutputTokens, outputSchema, stream } = request;
	const mark = createMark(cache);
	const found = takesReferences(model) ? groupFoundTools(request) : new Map<string, readonly WireTool[]>();
	const wire = toMessages(messages, takesSystemInPlace(model), found);
	const system = joinSystem(request.system, messages);
	const container = findContainer(messages);
	const maxTokens = maxOutputTokens ?? findLongestReply(model);
	const { thinking, effort } = toThinking(request, maxTokens);
	const format = outputSchema && { type: 'json_schema', schema: await closeSchema(outputSchema) };
	markMessages(wire, mark);
	return {
		model,
		max_tokens: maxTokens,
		...(system !== '' && { system: [{ type: 'text', text: system, ...mark }] }),
		messages: wire,
		...(container !== undefined && { container: { id: container } }),
		...(tools.length > 0 && {
			tools: toTools(tools, new Set([...found.values()].flat()), mark),
			...toToolChoice(request),
		}),
		...(thinking && { thinking }),
		...((format || effort) && { output_config: { ...(effort && { effort }), ...(format && { format }) } }),
		...(stream && { stream }),
	};
}

/**
 * Converts tools. The API moves a deferred tool from the beginning of the prompt to the result that refers to
 * the tool (platform.claude.com/docs/en/agents-and-tools/tool-use/tool-use-with-prompt-caching).
 */
function toTools(tools: readonly WireTool[], deferred: ReadonlySet<WireTool>, mark: Json): Json[] {
	const last = tools.findLast((tool) => !deferred.has(tool) && tool.provider?.deferLoading !== true);
	return tools.map((tool) => ({
		name: tool.name,
		description: tool.description,
		input_schema: { type: 'object', ...tool.inputSchema },
		...toToolFields(tool.provider ?? {}),
		...(deferred.has(tool) && { defer_loading: true }),
		...(tool === last && mark),
	}));
}

function takesReferences(model: string): boolean {
	return readVersion(model) >= 4.5 && readVersion(model) < 99;
}

/** Removes the model's thinking from a request's body, and the turns that this leaves empty. */
export function removeThinking(body: Json): Json {
	const messages = getObjects(body, 'messages').flatMap((message) => {
		const content = getObjects(message, 'content').filter(({ type }) => !/^(redacted_)?thinking$/.test(`${type}`));
		return content.length === 0 ? [] : [{ ...message, content }];
	});
	return { ...body, messages };
}

/** Converts a schema for structured output. Closes objects, and moves unknown keywords to the description. */
async function closeSchema(schema: JsonSchema): Promise<unknown> {
	const { transformJSONSchema } = await import('../../adapter/anthropic-sdk.ts');
	try {
		return transformJSONSchema(removeClosedLists(schema));
	} catch (error) {
		throw createFieldError('invalid_request', 'outputSchema', toMessageText(error));
	}
}

/** Removes a boolean `items`, which the API does not support. The whole schema checks the reply later. */
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

/** Reads the version in a model's name: 4.5 of `claude-sonnet-4-5-20250929`. Returns 99 if there is none. */
function readVersion(model: string): number {
	const [, major, minor = '0'] = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/i.exec(model) ?? [];
	return major === undefined ? 99 : Number(`${major}.${minor}`);
}

/** The default limit of a reply in tokens, which the API requires. Every model of the version can reach it. */
function findLongestReply(model: string): number {
	const version = readVersion(model);
	return version >= 4 ? 32_000 : version >= 3.5 ? 8_192 : 4_096;
}

const olderEfforts: readonly ReasoningEffort[] = ['low', 'medium', 'high', 'max'];
const newerEfforts: readonly ReasoningEffort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

const budgets = { minimal: 1_024, low: 2_048, medium: 8_192, high: 16_384, xhigh: 24_576, max: 31_000 };

/**
 * Models since 4.6 think by an effort, and models since 3.7 within a budget. A forced tool turns thinking off, because
 * the API refuses the combination (platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting).
 */
function toThinking({ model, reasoningEffort, toolChoice }: ModelRequest, maxTokens: number) {
	const version = readVersion(model);
	if (reasoningEffort === undefined || version < 3.7) return {};
	const forced = toolChoice === 'required' || typeof toolChoice === 'object';
	if (reasoningEffort === 'none') {
		// Some models always think. From version 5.5 on, Sonnet has its own setting for no thinking.
		const canStop = /haiku/i.test(model) || (version < 5.5 && !/fable|mythos/i.test(model));
		if (canStop) return { thinking: { type: 'disabled' } };
		return /sonnet/i.test(model) ? { thinking: { type: 'between_tools' } } : { effort: 'low' };
	}
	if (version >= 4.6) {
		const steps = version < 4.7 || /mythos-preview/i.test(model) ? olderEfforts : newerEfforts;
		const effort = roundEffort(reasoningEffort, steps);
		// From version 4.7 on, models show their thinking only on request.
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

/** Finds the container of the current turn. A program in it may wait for the results of its calls. */
function findContainer(messages: readonly Message[]): string | undefined {
	const last = messages.findLast(({ role }) => role !== 'tool' && role !== 'system');
	return last?.role === 'assistant'
		? getString(getObject(last.providerMetadata ?? {}, 'anthropic'), 'container')
		: undefined;
}
