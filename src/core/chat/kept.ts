import { isRecord } from '../ground/json.ts';
import { countMediaTokens } from './media.ts';
import type { MediaRules } from './media-rules.ts';
import type { AssistantMessage } from './message.ts';
import { estimateTokens } from './tokens.ts';

/** What an adapter sends of a message's `providerMetadata`, in estimated tokens. */
export interface KeptTokens {
	/** What stands in the place of the message's text. */
	readonly instead: number;
	/** What is sent beside it. */
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

/**
 * Estimates what is sent of the metadata of a message: that of its provider. Without a provider all of it counts, because
 * nobody knows what is sent.
 */
export function countKept(
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
