import { fromBase64, hashText } from '../base/bytes.ts';
import { toMessageText } from '../base/errors.ts';
import { dropUndefined, isRecord } from '../base/json.ts';
import { type MessagePart, textPart } from '../base/part.ts';
import type { ToolCall } from '../tool/index.ts';
import type { Workspace } from '../workspace/index.ts';
import type { ProviderCall, Source } from './provider-tool.ts';

/** Counts of billed units by their names. */
export type Units = Readonly<Record<string, number>>;

/** The cost of a model call. A field that was not reported is missing. */
export interface ChatUsage {
	/** All input, including cached tokens. */
	readonly inputTokens?: number;
	/** All output, including reasoning. */
	readonly outputTokens?: number;
	readonly totalTokens?: number;
	/** Input from a cache. Writes to a cache count only in `inputTokens`. */
	readonly cachedInputTokens?: number;
	readonly reasoningTokens?: number;
	/**
	 * Separately priced units, by name: `{ web_searches: 2, input_audio_tokens: 900 }`. Units of tokens also count in
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
	/** Describes the part without a known price, such as `container_minutes of "x"`. */
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
	// Gemini does not count thoughts among its candidates. xAI's Chat API does not count reasoning in its output (its
	// total shows that). Other APIs include reasoning in their output.
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

/** The reason why a model ended its turn: a name of Runlet, else the provider's own name. */
export type StopReason =
	| 'end_turn'
	| 'tool_use'
	| 'max_tokens'
	| 'stop_sequence'
	| 'refusal'
	| 'pause_turn'
	| (string & {});

/** The reply of a model in one turn. It has the same form for every provider. */
export interface ChatReply {
	readonly text?: string;
	readonly toolCalls?: readonly ToolCall[];
	readonly stopReason: StopReason;
	readonly usage?: ChatUsage;
	/** The visible thinking of the model. */
	readonly reasoning?: string;
	/** The calls that the provider itself ran. */
	readonly providerCalls?: readonly ProviderCall[];
	/** The sources of the text. */
	readonly sources?: readonly Source[];
	/** The images that the model made. The loop stores them in the workspace, or in the message. */
	readonly images?: readonly MadeImage[];
	/** Data that the provider wants back, by the provider's name. The history keeps it. */
	readonly providerMetadata?: Readonly<Record<string, unknown>>;
	/** The provider's own data, such as its stop reason. The loop does not read it. */
	readonly raw?: unknown;
}

/**
 * The known kinds of deltas, by `type`. An adapter adds its own kind by declaration merging:
 *
 *      declare module 'runlet/chat' { interface ReplyDeltas { citation: { readonly url: string } } }
 */
export interface ReplyDeltas {
	text: { readonly text: string };
	reasoning: { readonly text: string };
	tool_use_start: { readonly id: string; readonly name: string };
	tool_use_input: { readonly id: string; readonly partialInputJson: string };
	tool_use_end: { readonly id: string };
	provider_tool: ProviderCall;
	source: Source;
	stop: StreamStop;
}

/** The end of a model's turn. It is the last delta of a call that does not fail. */
export interface StreamStop {
	readonly reason: StopReason;
	readonly usage?: ChatUsage;
}

export type KnownDelta = { [K in keyof ReplyDeltas]: { readonly type: K } & ReplyDeltas[K] }[keyof ReplyDeltas];

/**
 * A delta of an unknown kind, which a reader ignores. Its `type` has a prefix (`acme:citation`, `data-weather`),
 * so TypeScript still knows the type of a known delta in a `switch (delta.type)`.
 */
export interface UnknownDelta {
	readonly type: `${string}:${string}` | `${string}-${string}`;
	readonly [field: string]: unknown;
}

/** A piece of a streamed reply. A `switch` on `type` needs no case for unknown kinds. */
export type ReplyDelta = KnownDelta | UnknownDelta;

/**
 * Receives deltas from an adapter: the known kinds, and any other `{ type, … }`. Returns a promise if the reader
 * lags behind. An adapter that waits for the promise limits the memory that a slow reader needs.
 */
export type OnDelta = (
	delta: KnownDelta | { readonly type: string; readonly [field: string]: unknown },
) => undefined | Promise<void>;

/** An image that a model made. */
export interface MadeImage {
	/** Its path in the workspace, below `images/`. Equal images have equal names. */
	readonly name: string;
	/** Media type, such as `image/png`. */
	readonly mime: string;
	/** The bytes, in base64. */
	readonly data: string;
}

/** Adds an id to a set, with a suffix if the set has it. Returns the added id. */
export function claimId(ids: Set<string>, id: string): string {
	let unused = id;
	for (let again = 2; ids.has(unused); again++) unused = `${id.slice(0, 58)}_${again}`;
	ids.add(unused);
	return unused;
}

/** Names an image by its bytes. */
export function createMadeImage(mime: string, data: string): MadeImage {
	const ending = endings[mime] ?? 'png';
	return { name: `images/${hashText(data)}.${ending}`, mime, data };
}

const endings: Readonly<Record<string, string>> = {
	'image/jpeg': 'jpg',
	'image/webp': 'webp',
	'image/gif': 'gif',
	'image/svg+xml': 'svg',
};

/** Returns the placeholder for an image, in the same form as for a part. */
export function renderMadeImage(name: string): string {
	return `[image:${name}]`;
}

/**
 * Writes the images of a reply to the workspace. Returns the parts of its message: the text, and for each image a part
 * with its file in `meta.file`. Without a workspace the parts hold the images themselves. If an image cannot be
 * written, its part has only the name, and the readers get a warning.
 */
export async function keepImages(
	{ text, images = [] }: { readonly text: string; readonly images?: readonly MadeImage[] },
	workspace: Workspace | undefined,
	warn: (message: string) => undefined | Promise<void>,
): Promise<readonly MessagePart[] | undefined> {
	if (images.length === 0) return undefined;
	const parts: MessagePart[] = text === '' ? [] : [textPart(text)];
	for (const { name, mime, data } of images) {
		if (workspace === undefined) {
			parts.push({ kind: 'image', name, mime, data });
			continue;
		}
		try {
			await workspace.forCall(name).write(name, fromBase64(data));
			parts.push({ kind: 'image', name, mime, meta: { file: name } });
		} catch (error) {
			parts.push({ kind: 'image', name, mime });
			await warn(`${name}: the image that the model made could not be kept. ${toMessageText(error)}`);
		}
	}
	return parts;
}
