import { RunletError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { memoize } from '../base/memoize.ts';
import { flattenParts } from '../base/part.ts';
import { toInputText } from '../tool/call.ts';
import type { JsonSchema, Tool } from '../tool/index.ts';
import { countMediaTokens, findAudioShare } from './media.ts';
import { type AssistantMessage, type Message, messageText } from './message.ts';
import { type ChatOptions, writeSystem } from './options.ts';
import { findProvider } from './registry.ts';
import { estimateTokens, findMediaRules, type MediaRules } from './tokens.ts';

/** The estimated tokens of a request by their purpose. */
export interface BudgetParts {
	readonly messages: number;
	readonly system: number;
	readonly tools: number;
}

/** The use of the context window. */
export interface ContextBudget {
	readonly parts: BudgetParts;
	readonly total: number;
	readonly limit: number;
	/** Whether `total` is over `warnContextPct` of `limit`. */
	readonly warn: boolean;
}

export type RequestSize = Pick<ContextBudget, 'parts' | 'total'>;

/**
 * Checks a request against the context limit: `maxContextTokens`, else `modelContextWindow`. Resolves to `undefined`
 * without a limit. Rejects with `context_overflow` and `{ parts, total, limit }` over the limit.
 */
export async function checkBudget(
	options: Pick<
		ChatOptions,
		'model' | 'system' | 'context' | 'maxContextTokens' | 'modelContextWindow' | 'warnContextPct' | 'countTokensFn'
	>,
	messages: readonly Message[],
	tools?: readonly Tool[],
): Promise<ContextBudget | undefined> {
	const limit = await findContextLimit(options);
	if (limit === undefined) return undefined;
	const system = await writeSystem(options.system, options.context);
	const size = await measureRequest({ ...options, system }, messages, tools);
	if (size.total > limit) throw createOverflow(size, limit);
	return { ...size, limit, warn: isNearlyFull(options, size, limit) };
}

/** Returns the maximum number of tokens of a request, or `undefined` if unknown. */
export async function findContextLimit(
	options: Pick<ChatOptions, 'model' | 'maxContextTokens' | 'modelContextWindow'>,
): Promise<number | undefined> {
	const { model, maxContextTokens, modelContextWindow: window } = options;
	return maxContextTokens ?? (typeof window === 'function' ? window(model) : window);
}

export async function measureRequest(
	options: Pick<ChatOptions, 'model' | 'countTokensFn'> & { readonly system?: string },
	messages: readonly Message[],
	tools?: readonly Tool[],
): Promise<RequestSize> {
	const { model, system, countTokensFn: count = countTokensHeuristic } = options;
	const parts: BudgetParts = {
		messages: await count(messages, model),
		system: estimateSystemTokens(system),
		tools: estimateToolsTokens(tools),
	};
	return { parts, total: parts.messages + parts.system + parts.tools };
}

export function isNearlyFull(
	{ warnContextPct = 0.8 }: Pick<ChatOptions, 'warnContextPct'>,
	{ total }: RequestSize,
	limit: number,
): boolean {
	return total > limit * warnContextPct;
}

export function createOverflow({ parts, total }: RequestSize, limit: number): RunletError {
	return new RunletError('context_overflow', formatBudgetBreakdown(parts, total, limit), { parts, total, limit });
}

/** Counts the tokens of messages for any model: characters / 4, plus 4 for each message. */
export function countTokensHeuristic(messages: readonly Message[], _model?: string): number {
	let characters = 0;
	for (const message of messages) characters += countCharacters(message);
	return Math.ceil(characters / 4) + 4 * messages.length;
}

/** Counts the tokens of a system prompt: characters / 4. */
export function estimateSystemTokens(system: string | undefined): number {
	return Math.ceil((system ?? '').length / 4);
}

/** Counts the tokens of tools: the characters of their JSON / 4, plus 10 for each tool. */
export function estimateToolsTokens(tools: readonly Tool[] | undefined): number {
	return (tools ?? []).reduce(
		(sum, { name, description, inputSchema }) =>
			sum + 10 + Math.ceil(JSON.stringify({ name, description, inputSchema }).length / 4),
		0,
	);
}

/** Formats the message of a `context_overflow`. */
export function formatBudgetBreakdown({ messages, system, tools }: BudgetParts, total: number, limit: number): string {
	return (
		`The request needs about ${total} tokens, over the context limit of ${limit}: messages ${messages}, system ${system}, tools ${tools}. ` +
		'Shorten the history, offer fewer tools, or use a model with a larger context window.'
	);
}

const countCharacters = memoize((message: Message): number => {
	const calls =
		message.role === 'assistant' && message.toolCalls !== undefined ? JSON.stringify(message.toolCalls).length : 0;
	return messageText(message).length + calls;
});

/** The tokens that each message, result, call and tool has besides its text: for the role, the ids and the form. */
const aroundMessage = 6;
const aroundResult = 22;
const aroundCall = 10;
const aroundTool = 9;
/** The tokens of the provider's instructions about an output schema. */
const aroundSchema = 200;
/** The context window of an unknown model. */
const usualContext = 200_000;

type Estimated = Pick<
	ChatOptions,
	'model' | 'providers' | 'chatFn' | 'chatStreamFn' | 'countTokensFn' | 'modelContextWindow'
> & { readonly system?: string; readonly outputSchema?: JsonSchema };

/**
 * Estimates the tokens of a request for budgets, and tends to estimate too many. It counts texts by their script, the
 * `providerMetadata` that the adapter sends back, and images, audio and files by the provider's rules. A file of
 * unknown length counts as the whole context window. `countTokensFn` counts the messages, if it is set.
 */
export async function estimateRequest(
	options: Estimated,
	messages: readonly Message[],
	tools: readonly Tool[] = [],
): Promise<number> {
	const { model, system = '', outputSchema, countTokensFn } = options;
	const rules = findMediaRules(model);
	const found = findProvider(options);
	const around =
		(system === '' ? 0 : estimateTokens(system) + aroundMessage) +
		(tools.length === 0 ? 0 : rules.aroundTools) +
		(outputSchema === undefined ? 0 : aroundSchema + estimateTokens(JSON.stringify(outputSchema))) +
		tools.reduce((sum, tool) => sum + estimateTool(tool), 0);
	if (countTokensFn !== undefined) return (await countTokensFn(messages, model)) + Math.ceil(around * rules.perToken);
	const { texts, media } = estimateMessages(messages, found?.variant, rules);
	const known = Math.ceil((texts + around) * rules.perToken);
	if (Number.isFinite(media)) return known + media;
	const modelContextWindow = found?.contextWindow ?? options.modelContextWindow;
	return Math.max(known, (await findContextLimit({ model, modelContextWindow })) ?? usualContext);
}

/** Estimates the audio tokens. Returns `Infinity` if the length of a recording is unknown. */
export function estimateAudio(model: string, messages: readonly Message[]): number {
	const rules = findMediaRules(model);
	const parts = messages.flatMap((message) => ('parts' in message ? (message.parts ?? []) : []));
	const withAudio = parts.filter((part) => findAudioShare(part) > 0);
	return Math.ceil(withAudio.reduce((sum, part) => sum + findAudioShare(part) * countMediaTokens(part, rules), 0));
}

interface Size {
	/** The tokens of texts and calls. */
	readonly texts: number;
	/** The tokens of images, audio and files. Infinite if a length is unknown. */
	readonly media: number;
	/** The tokens of thinking, which is sent only within an exchange with tool calls. */
	readonly thinking: number;
}

function estimateMessages(
	messages: readonly Message[],
	variant: string | undefined,
	rules: MediaRules,
): Omit<Size, 'thinking'> {
	let [texts, media, thinking] = [0, 0, 0];
	let hasCalls = false;
	const close = (): void => {
		if (hasCalls) texts += thinking;
		thinking = 0;
		hasCalls = false;
	};
	for (const message of messages) {
		if (message.role === 'user') close();
		if (message.role === 'assistant') hasCalls ||= (message.toolCalls ?? []).length > 0;
		const size = findSize(message, variant, rules);
		texts += size.texts;
		media += size.media;
		thinking += size.thinking;
	}
	close();
	return { texts, media };
}

/** Estimates the tokens of a reply: its text, its visible thinking, its calls. */
export function estimateReply({ content, reasoning = '', toolCalls = [] }: Message & { role: 'assistant' }): number {
	const calls = toolCalls.map(({ name, input }) => `${name}${JSON.stringify(input) ?? ''}`);
	return [content, reasoning, ...calls].reduce((sum, text) => sum + estimateTokens(text), 0);
}

/** The functions that estimate a message, by media family and provider. */
const estimators = new Map<string, (message: Message) => Size>();

function findSize(message: Message, variant: string | undefined, rules: MediaRules): Size {
	const key = JSON.stringify([rules.family, variant]);
	const estimate = estimators.get(key) ?? memoize((message: Message) => estimateMessage(message, variant, rules));
	estimators.set(key, estimate);
	return estimate(message);
}

function estimateMessage(message: Message, variant: string | undefined, rules: MediaRules): Size {
	const parts = ('parts' in message ? message.parts : undefined) ?? [];
	const media = parts.reduce((sum, part) => sum + countMediaTokens(part, rules), 0);
	const text = estimateTokens(parts.length > 0 ? flattenParts(parts) : messageText(message));
	if (message.role === 'tool') {
		const about = estimateTokens(message.toolCallId + toInputText(message.ranWith ?? ''));
		return { texts: aroundMessage + aroundResult + text + about, media, thinking: 0 };
	}
	if (message.role !== 'assistant') return { texts: aroundMessage + text, media, thinking: 0 };
	const { toolCalls = [], content } = message;
	const kept = countKept(message, variant, rules);
	const own = Math.max(text, kept.instead, parts.length > 0 ? estimateTokens(content) : 0);
	const calls = toolCalls.reduce((sum, call) => sum + aroundCall + estimateTokens(JSON.stringify(call)), 0);
	return { texts: aroundMessage + own + kept.beside + calls, media, thinking: kept.thinking };
}

export const estimateTool = memoize(
	({ name, description, inputSchema }: Tool): number =>
		aroundTool + estimateTokens(JSON.stringify({ name, description, inputSchema })),
);

/** The estimated tokens of the `providerMetadata` that an adapter sends. */
interface KeptTokens {
	/** The tokens that are sent in place of the message's text. */
	readonly instead: number;
	/** The tokens that are sent in addition to the message's text. */
	readonly beside: number;
	/** The tokens that are sent only within an exchange with tool calls. */
	readonly thinking: number;
}

/** The fields in which adapters keep a whole turn: first for Anthropic and Chat, then Responses, then Gemini. */
const wholeTurn: ReadonlySet<string> = new Set(['content', 'output', 'parts']);

/** Encrypted fields. A token has at least about three bytes, which are four characters of base64. */
const encrypted = /^(signature|thought_?signature|encrypted_(content|index|stdout|reasoning))$/i;
const charactersPerToken = 3;
/** The tokens of the JSON syntax around a value. */
const aroundValue = 1;

/** Estimates the sent metadata of a message: the metadata of the provider, or all of it if the provider is unknown. */
function countKept(
	{ providerMetadata = {}, toolCalls = [] }: AssistantMessage,
	variant: string | undefined,
	rules: MediaRules,
): KeptTokens {
	const sum = { instead: 0, beside: 0, thinking: 0 };
	const sent = variant === undefined ? Object.values(providerMetadata) : [providerMetadata[variant]];
	for (const kept of sent) {
		if (!isRecord(kept)) continue;
		for (const [key, value] of Object.entries(kept)) {
			const ofCalls = key === 'calls' && isRecord(value) ? toolCalls.map(({ id }) => value[id]) : [value];
			const place = wholeTurn.has(key) ? 'instead' : key === 'reasoning_content' ? 'thinking' : 'beside';
			for (const data of ofCalls) sum[place] += countJson(data, rules);
		}
	}
	return sum;
}

interface Place {
	readonly value: unknown;
	readonly key: string;
	readonly holder: Readonly<Record<string, unknown>>;
}

/** Estimates a JSON value of any depth. Media in it count by their own rules. */
function countJson(root: unknown, rules: MediaRules): number {
	let tokens = 0;
	const open: Place[] = [{ value: root, key: '', holder: {} }];
	for (let place = open.pop(); place !== undefined; place = open.pop()) {
		const { value, key, holder } = place;
		tokens += aroundValue;
		if (typeof value === 'string') tokens += countText(value, key, holder, rules);
		else if (Array.isArray(value)) for (const item of value) open.push({ value: item, key, holder });
		else if (isRecord(value)) {
			for (const [name, field] of Object.entries(value)) {
				tokens += estimateTokens(name);
				open.push({ value: field, key: name, holder: value });
			}
		} else tokens += estimateTokens(String(value));
	}
	return tokens;
}

function countText(text: string, key: string, holder: Place['holder'], rules: MediaRules): number {
	const type = typeof holder.type === 'string' ? holder.type : '';
	if (encrypted.test(key) || (key === 'data' && /redacted|encrypted/.test(type)))
		return Math.ceil(text.length / charactersPerToken);
	if (key === 'result' && type === 'image_generation_call') return rules.image(undefined, undefined);
	const mime = [holder.mimeType, holder.mime_type, holder.media_type].find((type) => typeof type === 'string');
	if (key === 'data' && typeof mime === 'string') return countMediaTokens({ kind: 'file', mime, data: text }, rules);
	if (/^data:[^,]*;base64,/.test(text)) return countMediaTokens({ kind: 'file', url: text }, rules);
	return estimateTokens(text);
}
