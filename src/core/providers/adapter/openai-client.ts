import type { Embed } from './adapter.ts';
import { providerFetch, quietSdk } from './fetch.ts';
import type { Json } from './json.ts';
import type { OpenAI } from './openai-sdk.ts';
import type { ProviderSettings } from './settings.ts';
import { readVectors, readVectorUsage, requestInBatches } from './vectors.ts';

/** The requests to paths under the base URL. They resolve to a successful response. */
export interface OpenAIRequests {
	readonly post: (
		path: string,
		body: Json,
		signal: AbortSignal,
		headers?: Readonly<Record<string, string>>,
	) => Promise<Response>;
	readonly get: (path: string, signal: AbortSignal) => Promise<Response>;
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

/** Requests vectors from `/embeddings`, with at most `atOnce` texts in a request. */
export function createEmbed({ post }: OpenAIRequests, atOnce: number): Embed {
	return (model, texts, signal, onUsage, dimensions) =>
		requestInBatches(texts, atOnce, async (input) => {
			const response = await post('/embeddings', { model, input, encoding_format: 'float', dimensions }, signal);
			const answer: unknown = await response.json();
			onUsage(readVectorUsage(answer));
			return readVectors(answer);
		});
}
