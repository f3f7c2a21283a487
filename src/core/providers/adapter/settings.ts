import * as v from 'valibot';
import type { Timeouts } from '../../chat/index.ts';
import { check } from '../../ground/check.ts';
import { RunletError } from '../../ground/errors.ts';
import { isRecord } from '../../ground/json.ts';
import type { Json } from './json.ts';

/** What every provider function takes. */
export interface ProviderSettings {
	/** Sent to the provider and nowhere else; never in a message. Without one its models are known but cannot be asked. */
	readonly apiKey: string | undefined;
	/** Where the API is, as the provider's own SDK takes it: a gateway, a proxy, a server of your own. */
	readonly baseURL?: string;
	/** Further headers of each request. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Further fields of each request's body, in the API's own words (`temperature`, server tools, …). Lists are joined. */
	readonly body?: Readonly<Record<string, unknown>>;
	/** Makes the requests; the global `fetch`. */
	readonly fetch?: typeof fetch;
	/** Retries of a failed call: 2 in a run; a function called by itself makes one request unless this says more. */
	readonly maxRetries?: number;
	/** How long a call may take to begin, and to go on. */
	readonly timeouts?: Timeouts;
}

const settingsSchema = v.object({
	apiKey: v.optional(v.string()),
	baseURL: v.optional(
		v.pipe(
			v.string(),
			v.url('must be a URL, such as https://example.com'),
			v.regex(/^https?:/i, 'must begin with https:// or http://'),
			v.check((url) => !/[?#]/.test(url), 'must have no query; what is wanted there may go into headers'),
		),
	),
	maxRetries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
});

/** The settings of a provider function, checked; a mistake is `invalid_request` that names the field. */
export function checkSettings(name: string, settings: Partial<ProviderSettings>): void {
	if (settings === undefined || settings === null)
		throw new RunletError('invalid_request', `${name}: missing. Call ${name}({ apiKey: … }).`, { field: name });
	check(settingsSchema, settings, name);
}

/** Texts that no error may show: the key, and what stands in headers or in the base URL to prove who asks. */
export function listSecrets({ apiKey, headers = {}, baseURL = '' }: Partial<ProviderSettings>): readonly string[] {
	const telling = Object.entries(headers).filter(([name]) => /auth|key|token|secret|cookie/i.test(name));
	const { username = '', password = '' } = URL.canParse(baseURL) ? new URL(baseURL) : {};
	const words = telling.flatMap(([, value]) => value.split(/[\s;,=]+/));
	return [apiKey ?? '', ...words, username, password, decodeURIComponent(password)].filter(({ length }) => length > 3);
}

/** A request's body with the fields that a user adds: objects are merged, lists joined, and anything else replaced. */
export function withBody(body: Json, more: Json = {}): Json {
	const merged: Record<string, unknown> = { ...body };
	for (const [key, value] of Object.entries(more)) {
		const own = merged[key];
		if (Array.isArray(own) && Array.isArray(value)) merged[key] = [...own, ...value];
		else merged[key] = isRecord(own) && isRecord(value) ? { ...own, ...value } : value;
	}
	return merged;
}
