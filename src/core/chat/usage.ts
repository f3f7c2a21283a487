/** What a model call cost. A field that nobody reported is missing, never a guess. */
export interface ChatUsage {
	/** All input, cached included. */
	readonly inputTokens?: number;
	/** All output, reasoning included. */
	readonly outputTokens?: number;
	readonly totalTokens?: number;
	/** Input that came out of a cache. Writes to a cache count in `inputTokens` only. */
	readonly cachedInputTokens?: number;
	readonly reasoningTokens?: number;
	/** US dollars. */
	readonly costUsd?: number;
	/** Wall-clock milliseconds. */
	readonly latencyMs?: number;
	readonly provider?: string;
	readonly model?: string;
}

/**
 * Usage from a provider's own record, in Anthropic's, OpenAI's (both APIs), Gemini's or Runlet's keys. `totalTokens` is
 * computed where input and output are known.
 */
export function makeUsage(raw: unknown, provider?: string, model?: string): ChatUsage {
	const from = isRecord(raw) ? raw : {};
	const cacheRead = number(from, 'cache_read_input_tokens');
	const cacheWrite = number(from, 'cache_creation_input_tokens');
	const input = number(from, 'inputTokens', 'input_tokens', 'prompt_tokens', 'promptTokenCount');
	// Anthropic counts cached input beside input_tokens; every other API counts it within.
	const toolUse = number(from, 'toolUsePromptTokenCount');
	const inputTokens = input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0) + (toolUse ?? 0);
	const reasoningTokens =
		number(from, 'reasoningTokens', 'thoughtsTokenCount') ??
		detail(from, ['completion_tokens_details', 'output_tokens_details'], 'reasoning_tokens', 'thinking_tokens');
	const reported = number(from, 'totalTokens', 'total_tokens', 'totalTokenCount');
	const output = number(from, 'outputTokens', 'output_tokens', 'completion_tokens');
	const candidates = number(from, 'candidatesTokenCount');
	// Gemini counts thoughts beside its candidates, and so does xAI's Chat API, by its total; every other API counts
	// reasoning within its output.
	const beside = reported !== undefined && reported === (inputTokens ?? 0) + (output ?? 0) + (reasoningTokens ?? 0);
	const visible = output ?? candidates;
	const outputTokens =
		visible === undefined || (output !== undefined && !beside) ? visible : visible + (reasoningTokens ?? 0);
	const both = inputTokens !== undefined && outputTokens !== undefined ? inputTokens + outputTokens : undefined;
	return dropUndefined({
		inputTokens,
		outputTokens,
		totalTokens: both ?? reported,
		cachedInputTokens:
			cacheRead ??
			number(from, 'cachedInputTokens', 'cachedContentTokenCount') ??
			detail(from, ['prompt_tokens_details', 'input_tokens_details'], 'cached_tokens'),
		reasoningTokens,
		costUsd: number(from, 'costUsd', 'cost_usd'),
		latencyMs: number(from, 'latencyMs', 'latency_ms'),
		provider: provider ?? text(from, 'provider'),
		model: model ?? text(from, 'model'),
	});
}

/** The sum of two usages; the later one's provider and model. */
export function addUsage(a: ChatUsage, b: ChatUsage | undefined): ChatUsage {
	if (b === undefined) return a;
	const sum = (
		key:
			| 'inputTokens'
			| 'outputTokens'
			| 'totalTokens'
			| 'cachedInputTokens'
			| 'reasoningTokens'
			| 'costUsd'
			| 'latencyMs',
	) => (a[key] === undefined && b[key] === undefined ? undefined : (a[key] ?? 0) + (b[key] ?? 0));
	return dropUndefined({
		inputTokens: sum('inputTokens'),
		outputTokens: sum('outputTokens'),
		totalTokens: sum('totalTokens'),
		cachedInputTokens: sum('cachedInputTokens'),
		reasoningTokens: sum('reasoningTokens'),
		costUsd: roundDollars(sum('costUsd')),
		latencyMs: sum('latencyMs'),
		provider: b.provider ?? a.provider,
		model: b.model ?? a.model,
	});
}

/** Dollars without what binary fractions add to a sum. */
export function roundDollars(sum: number | undefined): number | undefined {
	return sum === undefined ? undefined : Math.round(sum * 1e12) / 1e12;
}

function number(from: Record<string, unknown>, ...keys: string[]): number | undefined {
	for (const key of keys) {
		const value = from[key];
		if (typeof value === 'number' && Number.isFinite(value)) return value;
	}
	return undefined;
}

function text(from: Record<string, unknown>, key: string): string | undefined {
	const value = from[key];
	return typeof value === 'string' ? value : undefined;
}

function detail(from: Record<string, unknown>, groups: readonly string[], ...keys: string[]): number | undefined {
	for (const group of groups) {
		const details = from[group];
		if (isRecord(details)) return number(details, ...keys);
	}
	return undefined;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function dropUndefined<T extends object>(fields: T): Defined<T> {
	const kept: Defined<T> = { ...fields };
	for (const key in kept) if (kept[key] === undefined) delete kept[key];
	return kept;
}

import { isRecord } from '../ground/json.ts';
