import { readComplaint } from './failure.ts';
import type { ProviderSettings } from './settings.ts';

/** The options of every official SDK. The loop retries and limits the time, and the SDK logs nothing. */
export const quietSdk = {
	maxRetries: 0,
	timeout: 2 ** 31 - 1,
	dangerouslyAllowBrowser: true,
	logLevel: 'off',
} as const;

/** The usual headers of an SDK's request. */
const usual =
	/^(accept|content-type|user-agent|x-stainless-.*|anthropic-version|anthropic-dangerous-.*|openai-(organization|project))$/;

/** Sends a request, for an SDK or without one. */
export type Send = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Creates the `fetch` of an adapter and its SDK. It sends `own` headers (such as the key's), those of the settings, and
 * an SDK's usual ones, and no others: SDKs read some from variables such as `OPENAI_CUSTOM_HEADERS`, which may belong
 * to another provider. It does not follow redirects, which would send the key and the conversation elsewhere. It throws
 * an unsuccessful response with its whole body.
 */
export function providerFetch(
	{ fetch: send = (input, init) => fetch(input, init), headers = {} }: Pick<ProviderSettings, 'fetch' | 'headers'>,
	own: Readonly<Record<string, string>> = {},
): Send {
	return async (input, init) => {
		const sent = new Headers(init?.headers);
		for (const name of [...sent.keys()]) if (!usual.test(name)) sent.delete(name);
		// An SDK takes its name from its class, which has another one in minified code. Browsers send their own.
		if (sent.has('user-agent')) sent.set('user-agent', 'runlet');
		for (const [name, value] of Object.entries({ ...own, ...headers })) sent.set(name, value);
		const response = await send(input, { ...init, headers: sent, redirect: 'manual' });
		if (!response.ok) throw await readComplaint(response);
		return response;
	};
}
