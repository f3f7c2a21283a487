import { readComplaint } from './failure.ts';
import type { ProviderSettings } from './settings.ts';

/** What every official SDK is told: to leave to the loop what is the loop's, and to say nothing by itself. */
export const quietSdk = {
	maxRetries: 0,
	timeout: 2 ** 31 - 1,
	dangerouslyAllowBrowser: true,
	logLevel: 'off',
} as const;

/** The headers that an SDK itself has for a request. */
const usual =
	/^(accept|content-type|user-agent|x-stainless-.*|anthropic-version|anthropic-dangerous-.*|openai-(organization|project))$/;

/** What a request is made with, be it by an SDK or by hand. */
export type Send = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The `fetch` of an adapter, and of its SDK. `own` headers, such as the key's, and those of the settings go out beside an
 * SDK's usual ones, and none else: an SDK takes some from variables such as `OPENAI_CUSTOM_HEADERS`, which may be meant
 * for another provider. A redirect is not followed, for it would take the key and the conversation somewhere else. What
 * is no success is thrown with its whole body, of which an SDK knows one form.
 */
export function providerFetch(
	{ fetch: send = (input, init) => fetch(input, init), headers = {} }: Pick<ProviderSettings, 'fetch' | 'headers'>,
	own: Readonly<Record<string, string>> = {},
): Send {
	return async (input, init) => {
		const sent = new Headers(init?.headers);
		for (const name of [...sent.keys()]) if (!usual.test(name)) sent.delete(name);
		for (const [name, value] of Object.entries({ ...own, ...headers })) sent.set(name, value);
		const response = await send(input, { ...init, headers: sent, redirect: 'manual' });
		if (!response.ok) throw await readComplaint(response);
		return response;
	};
}
