import * as v from 'valibot';
import { check } from '../../base/check.ts';
import { createFieldError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import type { Timeouts } from '../../chat/index.ts';
import { type OwnPrice, ownPrice } from '../prices/own.ts';
import type { Json } from './json.ts';

/** The settings of every provider function. */
export interface ProviderSettings {
	/** Sent only to the provider, and never part of a message. Without a key the models are known, but cannot answer. */
	readonly apiKey: string | undefined;
	/** The URL of the API, a gateway, a proxy or your own server, in the form that the provider's own SDK accepts. */
	readonly baseURL?: string;
	/** More headers for each request. */
	readonly headers?: Readonly<Record<string, string>>;
	/**
	 * Further fields for the body of each request, by the names of the API (`temperature`, server tools, …). Lists are
	 * joined. A limit of the reply applies only if it is lower than the limits of the agent and its budgets.
	 */
	readonly body?: Readonly<Record<string, unknown>>;
	/** Your own prices: for all models, for some by name, or a function that returns US dollars (docs/budgets.md). */
	readonly price?: OwnPrice;
	/** Sends the requests. The default is the global `fetch`. */
	readonly fetch?: typeof fetch;
	/** The retries of a failed call. The default is 2 in a run, and 0 outside of a run. */
	readonly maxRetries?: number;
	/** The time limits for the start of a call and for its pauses. */
	readonly timeouts?: Timeouts;
}

const onlyOne = v.optional(v.literal(1, 'must be 1: one answer is read, and all are billed'));

export const baseURL = v.pipe(
	v.string(),
	v.url('must be a URL, such as https://example.com'),
	v.regex(/^https?:/i, 'must begin with https:// or http://'),
	v.check((url) => !/[?#]/.test(url), 'must have no query; what is wanted there may go into headers'),
);

const settingsSchema = v.object({
	apiKey: v.optional(v.string()),
	baseURL: v.optional(baseURL),
	maxRetries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
	price: v.optional(ownPrice),
	body: v.optional(
		v.looseObject({
			n: onlyOne,
			best_of: onlyOne,
			generationConfig: v.optional(v.looseObject({ candidateCount: onlyOne })),
		}),
	),
});

/** Checks the settings of a provider function. Throws `invalid_request` with the name of the field. */
export function checkSettings(name: string, settings: Partial<ProviderSettings>): void {
	if (settings === undefined || settings === null)
		throw createFieldError('invalid_request', name, `missing. Call ${name}({ apiKey: … }).`);
	check(settingsSchema, settings, name);
}

/** Lists the texts that no error may show: the key, and credentials in headers or in the base URL. */
export function listSecrets({ apiKey, headers = {}, baseURL = '' }: Partial<ProviderSettings>): readonly string[] {
	const secretHeaders = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
	const { username = '', password = '' } = URL.canParse(baseURL) ? new URL(baseURL) : {};
	const words = secretHeaders.flatMap(([, value]) => value.split(/[\s;,=]+/));
	return [apiKey ?? '', ...words, username, password, decodeURIComponent(password)].filter(({ length }) => length > 3);
}

/** Adds the user's fields to a request's body. Objects are merged, lists are joined, and other values are replaced. */
export function withBody(body: Json, more: Json = {}): Json {
	const merged: Record<string, unknown> = { ...body };
	for (const [key, value] of Object.entries(more)) {
		const own = merged[key];
		if (Array.isArray(own) && Array.isArray(value)) merged[key] = [...own, ...value];
		else merged[key] = isRecord(own) && isRecord(value) ? { ...own, ...value } : value;
	}
	return merged;
}

/** The fields with which APIs limit the length of a reply. */
const lengths = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens'];

/** Lowers the length limit in a body to the reserved length. */
export function capLength(body: Json, most: number | undefined): Json {
	if (most === undefined) return body;
	const capped = Object.entries(body).map(([key, value]) => {
		if (key === 'generationConfig' && isRecord(value)) return [key, capLength(value, most)] as const;
		return [key, lengths.includes(key) && typeof value === 'number' ? Math.min(value, most) : value] as const;
	});
	return Object.fromEntries(capped);
}
