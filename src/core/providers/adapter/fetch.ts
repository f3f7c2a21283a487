import { readComplaint } from './failure.ts';
import type { ProviderSettings } from './settings.ts';

/** The options of every official SDK. The SDK itself neither retries nor logs. The loop retries and limits the time. */
export const quietSdk = {
	maxRetries: 0,
	timeout: 2 ** 31 - 1,
	dangerouslyAllowBrowser: true,
	logLevel: 'off',
} as const;

/** The headers that SDKs and adapters may send. */
const usual =
	/^(accept|content-type|user-agent|x-stainless-.*|anthropic-(version|beta)|anthropic-dangerous-.*|openai-(organization|project)|x-grok-conv-id)$/;

/**
 * Creates the `fetch` of an adapter and its SDK. It sends the `own` headers (such as the key), the headers of the
 * settings and an SDK's usual headers. It drops other headers, because SDKs read some from variables such as
 * `OPENAI_CUSTOM_HEADERS`, which may belong to another provider. It does not follow redirects, which would send the key
 * and the conversation elsewhere. Throws a `ProviderComplaint` for an unsuccessful response.
 */
export function providerFetch(
	{ fetch: ownFetch, headers = {} }: Pick<ProviderSettings, 'fetch' | 'headers'>,
	own: Readonly<Record<string, string>> = {},
): (input: string | URL | Request, init?: RequestInit) => Promise<Response> {
	return async (input, init) => {
		const sent: Record<string, string> = {};
		for (const [name = '', value = ''] of listHeaders(init?.headers)) if (usual.test(name)) sent[name] = value;
		// An SDK's user agent has a class name, which differs in minified code. Browsers send their own user agent.
		if (sent['user-agent'] !== undefined) sent['user-agent'] = 'runlet';
		for (const [name, value] of [...Object.entries(own), ...Object.entries(headers)]) sent[name.toLowerCase()] = value;
		const request = { ...init, headers: sent, redirect: 'manual' } as const;
		// A `fetch` of the settings may read the headers, so they are a `Headers` object.
		const response = await (ownFetch === undefined
			? fetch(input, request)
			: ownFetch(input, { ...request, headers: new Headers(sent) }));
		if (!response.ok) throw await readComplaint(response);
		return response;
	};
}

function listHeaders(headers: RequestInit['headers'] = {}): Iterable<readonly string[]> {
	if (headers instanceof Headers || headers instanceof Map) return headers;
	return new Headers(headers);
}
