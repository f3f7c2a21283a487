import { dropUndefined, isRecord } from '../base/json.ts';

/** Counts of billed units by their names. */
export type Units = Readonly<Record<string, number>>;

/** The cost of a model call. A field that was not reported is missing. */
export interface ChatUsage {
	/** All input, including cached tokens. */
	readonly inputTokens?: number;
	/** All output, including reasoning. */
	readonly outputTokens?: number;
	readonly totalTokens?: number;
	/** Input from a cache. Writes to a cache only count in `inputTokens`. */
	readonly cachedInputTokens?: number;
	readonly reasoningTokens?: number;
	/**
	 * Separately priced units, by name: `{ web_searches: 2, input_audio_tokens: 900 }`. Tokens of one kind are also in
	 * `inputTokens` or `outputTokens`. docs/budgets.md lists the names.
	 */
	readonly units?: Units;
	/** The billed tier of service, if its price differs: `flex`, `priority`, `batch`. */
	readonly serviceTier?: string;
	/** The billed speed, if its price differs: `fast`. */
	readonly speed?: string;
	/** The region of the model, if its price differs: `us`. */
	readonly region?: string;
	/** US dollars. Missing if a part of the cost is unknown. */
	readonly costUsd?: number;
	/** The part without a known price, such as `container_minutes of "x"`. */
	readonly unpriced?: string;
	/** Wall-clock milliseconds. */
	readonly latencyMs?: number;
	readonly provider?: string;
	readonly model?: string;
}

/** Converts a usage record of Anthropic, OpenAI (both APIs), Gemini or Runlet. Computes a missing `totalTokens`. */
export function makeUsage(raw: unknown, provider?: string, model?: string): ChatUsage {
	const from = isRecord(raw) ? raw : {};
	const cacheRead = readNumber(from, 'cache_read_input_tokens');
	const cacheWrite = readNumber(from, 'cache_creation_input_tokens');
	const input = readNumber(from, 'inputTokens', 'input_tokens', 'prompt_tokens', 'promptTokenCount');
	// Anthropic counts cached input in addition to input_tokens. Other APIs include it.
	const toolUse = readNumber(from, 'toolUsePromptTokenCount');
	const inputTokens = input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0) + (toolUse ?? 0);
	const reasoningTokens =
		readNumber(from, 'reasoningTokens', 'thoughtsTokenCount') ??
		readDetail(from, ['completion_tokens_details', 'output_tokens_details'], 'reasoning_tokens', 'thinking_tokens');
	const reported = readNumber(from, 'totalTokens', 'total_tokens', 'totalTokenCount');
	const output = readNumber(from, 'outputTokens', 'output_tokens', 'completion_tokens');
	const candidates = readNumber(from, 'candidatesTokenCount');
	// Gemini counts thoughts in addition to its candidates, and so does xAI's Chat API, as its total shows. Other APIs
	// include reasoning in their output.
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
			readNumber(from, 'cachedInputTokens', 'cachedContentTokenCount') ??
			readDetail(from, ['prompt_tokens_details', 'input_tokens_details'], 'cached_tokens'),
		reasoningTokens,
		units: readUnits(from.units),
		serviceTier: readText(from, 'serviceTier'),
		speed: readText(from, 'speed'),
		region: readText(from, 'region'),
		costUsd: readNumber(from, 'costUsd', 'cost_usd'),
		unpriced: readText(from, 'unpriced'),
		latencyMs: readNumber(from, 'latencyMs', 'latency_ms'),
		provider: provider ?? readText(from, 'provider'),
		model: model ?? readText(from, 'model'),
	});
}

type NumberField = { [K in keyof ChatUsage]-?: ChatUsage[K] extends number | undefined ? K : never }[keyof ChatUsage];

/** Adds two usages. Keeps the texts of the later usage, such as its model. */
export function addUsage(a: ChatUsage, b: ChatUsage | undefined): ChatUsage {
	if (b === undefined) return a;
	const sum = (key: NumberField): number | undefined =>
		a[key] === undefined && b[key] === undefined ? undefined : (a[key] ?? 0) + (b[key] ?? 0);
	return dropUndefined({
		inputTokens: sum('inputTokens'),
		outputTokens: sum('outputTokens'),
		totalTokens: sum('totalTokens'),
		cachedInputTokens: sum('cachedInputTokens'),
		reasoningTokens: sum('reasoningTokens'),
		units: addUnits(a.units, b.units),
		serviceTier: b.serviceTier ?? a.serviceTier,
		speed: b.speed ?? a.speed,
		region: b.region ?? a.region,
		costUsd: roundDollars(sum('costUsd')),
		unpriced: a.unpriced ?? b.unpriced,
		latencyMs: sum('latencyMs'),
		provider: b.provider ?? a.provider,
		model: b.model ?? a.model,
	});
}

export function addUnits(a: Units | undefined, b: Units | undefined): Units | undefined {
	if (a === undefined || b === undefined) return a ?? b;
	const sum: Record<string, number> = { ...a };
	for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
	return sum;
}

/** Rounds a sum of dollars to 12 decimal places, to remove the digits of binary fractions. */
export function roundDollars(sum: number | undefined): number | undefined {
	return sum === undefined ? undefined : Math.round(sum * 1e12) / 1e12;
}

function readNumber(from: Record<string, unknown>, ...keys: string[]): number | undefined {
	for (const key of keys) {
		const value = from[key];
		if (typeof value === 'number' && Number.isFinite(value)) return value;
	}
	return undefined;
}

function readUnits(value: unknown): Units | undefined {
	const units = Object.entries(isRecord(value) ? value : {}).flatMap(([name, count]) =>
		typeof count === 'number' && Number.isFinite(count) && count > 0 ? [[name, count] as const] : [],
	);
	return units.length > 0 ? Object.fromEntries(units) : undefined;
}

function readText(from: Record<string, unknown>, key: string): string | undefined {
	const value = from[key];
	return typeof value === 'string' ? value : undefined;
}

function readDetail(from: Record<string, unknown>, groups: readonly string[], ...keys: string[]): number | undefined {
	for (const group of groups) {
		const details = from[group];
		if (isRecord(details)) return readNumber(details, ...keys);
	}
	return undefined;
}
