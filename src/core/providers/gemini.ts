import { isRecord } from '../base/json.ts';
import type { ProviderRegistration } from '../chat/index.ts';
import { providerFetch } from './adapter/fetch.ts';
import { getNumbers, getObjects, type Json, readCount } from './adapter/json.ts';
import { register } from './adapter/register.ts';
import { checkSettings, type ProviderSettings, withBody } from './adapter/settings.ts';
import { readVectorUsage, requestInBatches } from './adapter/vectors.ts';
import { foreseeGemini, toGeminiChoices } from './dialects/gemini/provider-tools.ts';
import { GeminiReader } from './dialects/gemini/reader.ts';
import { toGeminiBody } from './dialects/gemini/request.ts';

export type GeminiSettings = ProviderSettings;

/**
 * Google's Gemini models, with the native API of generativelanguage.googleapis.com. `baseURL` has no version:
 * `https://generativelanguage.googleapis.com`.
 */
export function gemini(settings: GeminiSettings): ProviderRegistration {
	checkSettings('gemini', settings);
	const { apiKey = '', baseURL = 'https://generativelanguage.googleapis.com' } = settings;
	// The key is sent in a header, and never in the URL, because URLs are logged.
	const send = providerFetch(settings, { 'x-goog-api-key': apiKey });
	const post = (model: string, method: string, body: Json, signal: AbortSignal): Promise<Response> => {
		const url = `${baseURL.replace(/\/+$/, '')}/v1beta/models/${encodeURIComponent(model)}:${method}`;
		return send(url, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify(body),
			signal,
		});
	};
	return register(
		{
			variant: 'gemini',
			displayName: 'Google Gemini',
			keyName: 'GEMINI_API_KEY',
			detect: (model) => /^(models\/)?gemini/i.test(model),
			meta: { vision: true, audio: true, reasoning: true, hidesThinking: true, contextWindow: 1_048_576 },
			choose: toGeminiChoices,
			foresee: foreseeGemini,
			send: (request, more) =>
				post(
					removePrefix(request.model),
					request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent',
					withBody(toGeminiBody(request), more),
					request.signal,
				),
			reader: (reply, request) => new GeminiReader(reply, request),
			embed: (model, texts, signal, onUsage, dimensions) => {
				const name = removePrefix(model);
				return requestInBatches(texts, embeddingsAtOnce, async (batch) => {
					const requests = batch.map((text) => ({
						model: `models/${name}`,
						content: { parts: [{ text }] },
						outputDimensionality: dimensions,
					}));
					const response = await post(name, 'batchEmbedContents', { requests }, signal);
					const answer: unknown = await response.json();
					onUsage(readVectorUsage(answer));
					return getObjects(isRecord(answer) ? answer : {}, 'embeddings').map(({ values }) => getNumbers(values));
				});
			},
			countTokens: async (request) => {
				const model = removePrefix(request.model);
				const generateContentRequest = { model: `models/${model}`, ...toGeminiBody(request) };
				return readCount(await post(model, 'countTokens', { generateContentRequest }, request.signal), 'totalTokens');
			},
		},
		settings,
	);
}

const embeddingsAtOnce = 100;

function removePrefix(model: string): string {
	return model.replace(/^models\//i, '');
}
