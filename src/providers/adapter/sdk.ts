import { complaintOf } from './failure.ts';
import type { ProviderSettings } from './register.ts';

/** What every official SDK is told: to leave to the loop what is the loop's, and to say nothing by itself. */
export const quietSdk = {
	maxRetries: 0,
	timeout: 2 ** 31 - 1,
	dangerouslyAllowBrowser: true,
	logLevel: 'off',
} as const;

/** The headers that an SDK itself has for a request. */
const usual = /^(accept|content-type|user-agent|authorization|x-api-key|(x-stainless|anthropic|openai)-.*)$/;

type Send = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The `fetch` of an official SDK. Headers of the environment do not go out: an SDK takes some from variables such as
 * `OPENAI_CUSTOM_HEADERS`, which may be meant for another provider. A refusal is thrown with its whole body, of which an
 * SDK knows one form. `own` headers replace the SDK's; `undefined` removes one.
 */
export function sdkFetch(
	{ fetch: send = (input, init) => fetch(input, init), headers = {} }: Pick<ProviderSettings, 'fetch' | 'headers'>,
	own: Readonly<Record<string, string | undefined>> = {},
): Send {
	return async (input, init) => {
		const sent = new Headers(init?.headers);
		for (const name of [...sent.keys()]) if (!usual.test(name)) sent.delete(name);
		for (const [name, value] of Object.entries({ ...own, ...headers })) {
			if (value === undefined) sent.delete(name);
			else sent.set(name, value);
		}
		const response = await send(input, { ...init, headers: sent });
		if (!response.ok) throw await complaintOf(response);
		return response;
	};
}
