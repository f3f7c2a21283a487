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

/** The requests that adapters send. */
export interface OpenAIRequests {
	readonly post: Post;
	/** Asks for a path under the base URL. Resolves to a successful response. */
	readonly get: (path: string, signal: AbortSignal) => Promise<Response>;
}

/** Like `openaiRequests`, for an adapter that sends bodies alone. */
export function openaiPost(settings: Parameters<typeof openaiRequests>[0]): Post {
	return openaiRequests(settings).post;
}

/**
 * Sends requests with OpenAI's SDK, to OpenAI or a compatible server. Without a key there is no `Authorization` header.
 */
export function openaiRequests(
	settings: Partial<ProviderSettings> & {
		readonly baseURL: string;
		readonly organization?: string;
		readonly project?: string;
	},
): OpenAIRequests {
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
	const load = async (): Promise<OpenAI> => {
		client ??= new (await import('./openai-sdk.ts')).OpenAI(options);
		return client;
	};
	return {
		post: async (path, body, signal, headers) => (await load()).post(path, { body, signal, headers }).asResponse(),
		get: async (path, signal) => (await load()).get(path, { signal }).asResponse(),
	};
}
