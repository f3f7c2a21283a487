import { providerFetch, quietSdk } from './fetch.ts';
import type { Json } from './json.ts';
import type { OpenAI } from './openai-sdk.ts';
import type { ProviderSettings } from './settings.ts';

/** Sends a body to a path under the base URL. Resolves to a successful response. */
export type Post = (
	path: string,
	body: Json,
	signal: AbortSignal,
	headers?: Readonly<Record<string, string>>,
) => Promise<Response>;

/**
 * Sends requests with OpenAI's SDK, to OpenAI or a compatible server. Without a key there is no `Authorization` header.
 */
export function openaiPost(
	settings: Partial<ProviderSettings> & {
		readonly baseURL: string;
		readonly organization?: string;
		readonly project?: string;
	},
): Post {
	const { apiKey, baseURL, organization, project } = settings;
	const options = {
		...quietSdk,
		apiKey: apiKey || 'none',
		adminAPIKey: null,
		organization: organization ?? null,
		project: project ?? null,
		webhookSecret: null,
		baseURL,
		fetch: providerFetch(settings, apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
	};
	// The first request loads the SDK, so a Worker starts without it.
	let client: OpenAI | undefined;
	return async (path, body, signal, headers) => {
		client ??= new (await import('./openai-sdk.ts')).OpenAI(options);
		return client.post(path, { body, signal, headers }).asResponse();
	};
}
