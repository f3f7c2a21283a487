import { isRecord } from '../base/json.ts';
import { flattenParts } from '../base/part.ts';
import { toInputText } from '../tool/call.ts';
import type { JsonSchema, Tool } from '../tool/index.ts';
import { countMediaTokens, findAudioShare } from './media.ts';
import { findMediaRules, type MediaRules } from './media-rules.ts';
import { type AssistantMessage, type Message, messageText } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { ProviderRegistration } from './provider.ts';
import { resolveRegistration } from './registry.ts';
import { estimateTokens } from './tokens.ts';

/** The tokens around each message, result, call and tool: its role, its id, its name, its form. */
const aroundMessage = 6;
const aroundResult = 22;
const aroundCall = 10;
const aroundTool = 9;

/** The tokens of the provider's instructions about an output schema. */
const aroundSchema = 200;

/** The context window of an unknown model. */
const usualContext = 200_000;

/** A request, as far as it is estimated. */
type Estimated = Pick<
	ChatOptions,
	'model' | 'providers' | 'chatFn' | 'chatStreamFn' | 'countTokensFn' | 'modelContextWindow'
> & { readonly system?: string; readonly outputSchema?: JsonSchema };

/**
 * Estimates the tokens that a request sends, for budgets, rather too high than too low: texts by their script, the
 * `providerMetadata` that the adapter sends back, images, audio and files by the rules of the model's provider. A file
 * of unknown length counts as the whole context window. `countTokensFn` counts the messages instead, if there is one.
 */
export async function estimateRequest(
	options: Estimated,
	messages: readonly Message[],
	tools: readonly Tool[] = [],
): Promise<number> {
	const { model, system = '', outputSchema, countTokensFn } = options;
	const rules = findMediaRules(model);
	const own = options.chatFn !== undefined || options.chatStreamFn !== undefined;
	const found = own ? undefined : resolveRegistration(options);
	const around =
		(system === '' ? 0 : estimateTokens(system) + aroundMessage) +
		(tools.length === 0 ? 0 : rules.aroundTools) +
		(outputSchema === undefined ? 0 : aroundSchema + estimateTokens(JSON.stringify(outputSchema))) +
		tools.reduce((sum, tool) => sum + estimateTool(tool), 0);
	if (countTokensFn !== undefined) return (await countTokensFn(messages, model)) + Math.ceil(around * rules.perToken);
	const { texts, media } = estimateMessages(messages, found?.variant, rules);
	const known = Math.ceil((texts + around) * rules.perToken);
	if (Number.isFinite(media)) return known + media;
	return Math.max(known, (await findContext(options, found?.contextWindow)) ?? usualContext);
}

/** Estimates the audio tokens. Infinite if the length of a recording is unknown. */
export function estimateAudio(model: string, messages: readonly Message[]): number {
	const rules = findMediaRules(model);
	const parts = messages.flatMap((message) => ('parts' in message ? (message.parts ?? []) : []));
	const heard = parts.filter((part) => findAudioShare(part) > 0);
	return Math.ceil(heard.reduce((sum, part) => sum + findAudioShare(part) * countMediaTokens(part, rules), 0));
}

function findContext(
	{ model, modelContextWindow: window }: Estimated,
	own: ProviderRegistration['contextWindow'],
): number | undefined | Promise<number | undefined> {
	if (own !== undefined) return own(model);
	return typeof window === 'function' ? window(model) : window;
}

/** The estimated tokens of a message. */
interface Size {
	/** Its texts and its calls. */
	readonly texts: number;
	/** Images, audio and files. Infinite if a length is unknown. */
	readonly media: number;
	/** Thinking that is sent only within an exchange with tool calls. */
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

// Messages and tools never change, so each is measured once for a provider, even if several turns send it.
const sizes = new Map<string, WeakMap<Message, Size>>();
const toolTokens = new WeakMap<Tool, number>();

function findSize(message: Message, variant: string | undefined, rules: MediaRules): Size {
	const key = JSON.stringify([rules.family, variant]);
	const known = sizes.get(key) ?? new WeakMap<Message, Size>();
	sizes.set(key, known);
	const size = known.get(message) ?? estimateMessage(message, variant, rules);
	known.set(message, size);
	return size;
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
	const said = Math.max(text, kept.instead, parts.length > 0 ? estimateTokens(content) : 0);
	const calls = toolCalls.reduce((sum, call) => sum + aroundCall + estimateTokens(JSON.stringify(call)), 0);
	return { texts: aroundMessage + said + kept.beside + calls, media, thinking: kept.thinking };
}

/** Estimates the tokens of a tool in a request. */
export function estimateTool(tool: Tool): number {
	const known = toolTokens.get(tool);
	if (known !== undefined) return known;
	const { name, description, inputSchema } = tool;
	const tokens = aroundTool + estimateTokens(JSON.stringify({ name, description, inputSchema }));
	toolTokens.set(tool, tokens);
	return tokens;
}

/** The estimated tokens of the `providerMetadata` that an adapter sends. */
interface KeptTokens {
	/** Sent instead of the message's text. */
	readonly instead: number;
	/** Sent besides the text. */
	readonly beside: number;
	/** Thinking that is sent only within an exchange with tool calls. */
	readonly thinking: number;
}

/** The fields in which adapters keep a whole turn: Anthropic and Chat, Responses, Gemini. */
const wholeTurn: ReadonlySet<string> = new Set(['content', 'output', 'parts']);

/**
 * Fields that are encrypted. They hold at most a token in four characters: base64 of three bytes, and a token has about
 * three bytes or more.
 */
const encrypted = /^(signature|thought_?signature|encrypted_(content|index|stdout|reasoning))$/i;
const charactersPerToken = 3;

/** The tokens of the form around a value. */
const aroundValue = 1;

/** Estimates the sent metadata of a message: the metadata of its provider. Without a provider all metadata counts. */
function countKept(
	{ providerMetadata = {}, toolCalls = [] }: AssistantMessage,
	variant: string | undefined,
	rules: MediaRules,
): KeptTokens {
	const sum = { instead: 0, beside: 0, thinking: 0 };
	const given = variant === undefined ? Object.values(providerMetadata) : [providerMetadata[variant]];
	for (const kept of given) {
		if (!isRecord(kept)) continue;
		for (const [key, value] of Object.entries(kept)) {
			const ofCalls = key === 'calls' && isRecord(value) ? toolCalls.map(({ id }) => value[id]) : [value];
			const place = wholeTurn.has(key) ? 'instead' : key === 'reasoning_content' ? 'thinking' : 'beside';
			for (const one of ofCalls) sum[place] += countJson(one, rules);
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
		else if (Array.isArray(value)) for (const one of value) open.push({ value: one, key, holder });
		else if (isRecord(value)) {
			for (const [name, one] of Object.entries(value)) {
				tokens += estimateTokens(name);
				open.push({ value: one, key: name, holder: value });
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
	const mime = [holder.mimeType, holder.mime_type, holder.media_type].find((one) => typeof one === 'string');
	if (key === 'data' && typeof mime === 'string') return countMediaTokens({ kind: 'file', mime, data: text }, rules);
	if (/^data:[^,]*;base64,/.test(text)) return countMediaTokens({ kind: 'file', url: text }, rules);
	return estimateTokens(text);
}
