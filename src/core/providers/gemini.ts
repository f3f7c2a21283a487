import { isRecord } from '../base/json.ts';
import type { ProviderRegistration } from '../chat/index.ts';
import { providerFetch } from './adapter/fetch.ts';
import { getNumber, getNumbers, getObjects, type Json } from './adapter/json.ts';
import { register } from './adapter/register.ts';
import { checkSettings, type ProviderSettings, withBody } from './adapter/settings.ts';
import { readVectorUsage, requestInBatches } from './adapter/vectors.ts';
import { foreseeGemini, toGeminiChoices } from './dialects/gemini/choices.ts';
import { createGeminiReader } from './dialects/gemini/reader.ts';
import { toGeminiBody } from './dialects/gemini/request.ts';

export type GeminiSettings = ProviderSettings;

/**
 * Google's Gemini models, with the native API of generativelanguage.googleapis.com. `baseURL` has no version:
 * `https://generativelanguage.googleapis.com`.
 */
export function gemini(settings: GeminiSettings): ProviderRegistration {
	checkSettings('gemini', settings);
	const { apiKey = '', baseURL = 'https://generativelanguage.googleapis.com' } = settings;
	// The key goes in a header, never in the URL: URLs are logged.
	const send = providerFetch(settings, { 'x-goog-api-key': apiKey });
	const post = (model: string, method: string, body: Json, signal: AbortSignal): Promise<Response> => {
		const url = `${withoutEndSlashes(baseURL)}/v1beta/models/${encodeURIComponent(model)}:${method}`;
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
			send: (asked, more) =>
				post(
					removePrefix(asked.model),
					asked.stream ? 'streamGenerateContent?alt=sse' : 'generateContent',
					withBody(toGeminiBody(asked), more),
					asked.signal,
				),
			reader: createGeminiReader,
			embed: async (model, texts, signal, onUsage) => {
				const named = { model: `models/${removePrefix(model)}` };
				return requestInBatches(texts, embeddingsAtOnce, async (batch) => {
					const requests = batch.map((text) => ({ ...named, content: { parts: [{ text }] } }));
					const answer: unknown = await (
						await post(removePrefix(model), 'batchEmbedContents', { requests }, signal)
					).json();
					onUsage(readVectorUsage(answer));
					return getObjects(isRecord(answer) ? answer : {}, 'embeddings').map(({ values }) => getNumbers(values));
				});
			},
			countTokens: async (asked) => {
				const generateContentRequest = { model: `models/${removePrefix(asked.model)}`, ...toGeminiBody(asked) };
				const response = await post(removePrefix(asked.model), 'countTokens', { generateContentRequest }, asked.signal);
				const counted: unknown = await response.json();
				return (isRecord(counted) ? getNumber(counted, 'totalTokens') : undefined) ?? 0;
			},
		},
		settings,
	);
}

/** The most texts of one `batchEmbedContents` request. */
const embeddingsAtOnce = 100;

function removePrefix(model: string): string {
	return model.replace(/^models\//i, '');
}

function withoutEndSlashes(url: string): string {
	let end = url.length;
	while (url[end - 1] === '/') end--;
	return url.slice(0, end);
}
