/**
 * The APIs of three providers. Each reads a request in the order of the provider's cache, and writes an answer.
 */
import { isRecord } from '../../../src/core/base/json.ts';
import type { Billed } from '../../../src/core/providers/prices/price.ts';
import { type Block, type Cache, type Counted, createMarkedCache, createPrefixCache, hour, minute } from './caches.ts';

type Json = Readonly<Record<string, unknown>>;

/** The output of the model. */
export interface Said {
	readonly text: string;
	readonly calls: readonly { readonly id: string; readonly name: string; readonly input: Json }[];
}

/** A request from the view of a model and a cache. */
export interface Request {
	readonly blocks: readonly Block[];
	/** The names of the tools that the model knows. */
	readonly tools: ReadonlySet<string>;
	/** How long the cache keeps the request. Missing if the request does not set it. */
	readonly keepsMs?: number;
}

export interface Api {
	readonly provider: 'anthropic' | 'openai' | 'gemini';
	readonly model: string;
	readonly createCache: () => Cache;
	readonly read: (body: Json) => Request;
	readonly write: (said: Said, counted: Counted, outputTokens: number) => unknown;
	/** The billed amounts of a request. */
	readonly bill: (counted: Counted, outputTokens: number) => Billed;
}

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const toBlock = (value: unknown): Block => ({ text: JSON.stringify(value) ?? '' });
const nameOf = (tool: Json): string => (typeof tool.name === 'string' ? tool.name : '');
const toNames = (tools: readonly Json[]): ReadonlySet<string> => new Set(tools.map(nameOf));

/** A block without its cache mark. A reference to a tool is replaced by the tool. */
function toMarkedBlock(
	{ cache_control: mark, ...block }: Json,
	role: string | undefined,
	deferred: readonly Json[],
): Block {
	const named = new Set(list(block.content).map(({ tool_name }) => tool_name));
	const text = JSON.stringify([role, block, deferred.filter((tool) => named.has(tool.name))]);
	return isRecord(mark) ? { text, keepsMs: mark.ttl === '1h' ? hour : 5 * minute } : { text };
}

const anthropic: Api = {
	provider: 'anthropic',
	model: 'claude-sonnet-4-6',
	createCache: createMarkedCache,
	read: ({ tools, system, messages }) => {
		const deferred = list(tools).filter((tool) => tool.defer_loading === true);
		const first = list(tools).filter((tool) => tool.defer_loading !== true);
		const blocks = [...first, ...list(system)].map((block) => toMarkedBlock(block, undefined, []));
		for (const { role, content } of list(messages))
			for (const block of list(content)) blocks.push(toMarkedBlock(block, `${role}`, deferred));
		return { blocks, tools: toNames(list(tools)) };
	},
	write: ({ text, calls }, { input, read, written, writtenForHour }, output_tokens) => ({
		id: 'msg_1',
		type: 'message',
		role: 'assistant',
		model: 'claude-sonnet-4-6',
		content: [
			...(text === '' ? [] : [{ type: 'text', text }]),
			...calls.map((call) => ({ type: 'tool_use', ...call })),
		],
		stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
		stop_sequence: null,
		usage: {
			input_tokens: input - read - written,
			cache_read_input_tokens: read,
			cache_creation_input_tokens: written,
			cache_creation: {
				ephemeral_5m_input_tokens: written - writtenForHour,
				ephemeral_1h_input_tokens: writtenForHour,
			},
			output_tokens,
		},
	}),
	bill: ({ input, read, written, writtenForHour }, outputTokens) => ({
		inputTokens: input,
		cachedInputTokens: read,
		outputTokens,
		units: { cache_write_tokens: written, cache_write_1h_tokens: writtenForHour },
	}),
};

const billPlain: Api['bill'] = ({ input, read }, outputTokens) => ({
	inputTokens: input,
	cachedInputTokens: read,
	outputTokens,
});

const openai: Api = {
	provider: 'openai',
	model: 'gpt-5.5',
	createCache: createPrefixCache,
	read: ({ tools, instructions, input, prompt_cache_retention: retention }) => ({
		blocks: [...list(tools), instructions, ...list(input)].map(toBlock),
		tools: toNames([
			...list(tools),
			...list(input).flatMap((item) => (item.type === 'additional_tools' ? list(item.tools) : [])),
		]),
		...(retention === '24h' && { keepsMs: 24 * hour }),
	}),
	write: ({ text, calls }, { input, read }, output) => ({
		id: 'resp_1',
		object: 'response',
		model: 'gpt-5.5',
		status: 'completed',
		output: [
			...(text === ''
				? []
				: [
						{
							type: 'message',
							id: 'msg_1',
							role: 'assistant',
							status: 'completed',
							content: [{ type: 'output_text', text, annotations: [] }],
						},
					]),
			...calls.map(({ id, name, input: given }) => ({
				type: 'function_call',
				id: `fc_${id}`,
				call_id: id,
				name,
				arguments: JSON.stringify(given),
				status: 'completed',
			})),
		],
		usage: {
			input_tokens: input,
			input_tokens_details: { cached_tokens: read },
			output_tokens: output,
			output_tokens_details: { reasoning_tokens: 0 },
			total_tokens: input + output,
		},
	}),
	bill: billPlain,
};

const gemini: Api = {
	provider: 'gemini',
	model: 'gemini-3.1-pro-preview',
	// The larger models cache only 4,096 tokens and more.
	createCache: () => createPrefixCache({ leastTokens: 4_096 }),
	read: ({ tools, systemInstruction, contents }) => {
		const functions = list(tools).flatMap(({ functionDeclarations }) => list(functionDeclarations));
		const parts = list(contents).flatMap(({ role, parts }) => list(parts).map((part) => ({ role, part })));
		return { blocks: [...functions, systemInstruction, ...parts].map(toBlock), tools: toNames(functions) };
	},
	write: ({ text, calls }, { input, read }, output) => ({
		candidates: [
			{
				content: {
					role: 'model',
					parts: [
						...(text === '' ? [] : [{ text }]),
						...calls.map(({ id, name, input: args }) => ({ functionCall: { id, name, args } })),
					],
				},
				finishReason: 'STOP',
				index: 0,
			},
		],
		usageMetadata: {
			promptTokenCount: input,
			cachedContentTokenCount: read,
			candidatesTokenCount: output,
			totalTokenCount: input + output,
		},
		modelVersion: 'gemini-3.1-pro-preview',
	}),
	bill: billPlain,
};

export const apis: readonly Api[] = [anthropic, openai, gemini];
