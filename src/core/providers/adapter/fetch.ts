import { readComplaint } from './failure.ts';
import type { ProviderSettings } from './settings.ts';

/** The options of every official SDK. The loop retries and limits the time, and the SDK logs nothing. */
export const quietSdk = {
	maxRetries: 0,
	timeout: 2 ** 31 - 1,
	dangerouslyAllowBrowser: true,
	logLevel: 'off',
} as const;

/** The usual headers of an SDK's request, and those of adapters. */
const usual =
	/^(accept|content-type|user-agent|x-stainless-.*|anthropic-(version|beta)|anthropic-dangerous-.*|openai-(organization|project)|x-grok-conv-id)$/;

/** Sends a request, for an SDK or without one. */
export type Send = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Creates the `fetch` of an adapter and its SDK. It sends `own` headers (such as the key's), those of the settings, and
 * an SDK's usual ones, and no others: SDKs read some from variables such as `OPENAI_CUSTOM_HEADERS`, which may belong
 * to another provider. It does not follow redirects, which would send the key and the conversation elsewhere. It throws
 * an unsuccessful response with its whole body.
 */
export function providerFetch(
	{ fetch: theirs, headers = {} }: Pick<ProviderSettings, 'fetch' | 'headers'>,
	own: Readonly<Record<string, string>> = {},
): Send {
	return async (input, init) => {
		const sent: Record<string, string> = {};
		for (const [name = '', value = ''] of listHeaders(init?.headers)) if (usual.test(name)) sent[name] = value;
		// An SDK takes its name from its class, which has another one in minified code. Browsers send their own.
		if (sent['user-agent'] !== undefined) sent['user-agent'] = 'runlet';
		for (const [name, value] of [...Object.entries(own), ...Object.entries(headers)]) sent[name.toLowerCase()] = value;
		const request = { ...init, headers: sent, redirect: 'manual' } as const;
		// A function of the settings may read the headers, which `fetch` does anyway.
		const response = await (theirs === undefined
			? fetch(input, request)
			: theirs(input, { ...request, headers: new Headers(sent) }));
		if (!response.ok) throw await readComplaint(response);
		return response;
	};
}

/** Lists headers with their names in lower case. */
function listHeaders(headers: RequestInit['headers'] = {}): Iterable<readonly string[]> {
	if (headers instanceof Headers || headers instanceof Map) return headers;
	return new Headers(headers);
}
