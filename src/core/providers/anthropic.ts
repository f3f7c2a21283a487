import { type ProviderRegistration, prefixDetector } from '../chat/index.ts';
import { isRecord } from '../ground/json.ts';
import type { BaseAnthropic } from './adapter/anthropic-sdk.ts';
import { findComplaint } from './adapter/failure.ts';
import { providerFetch, quietSdk } from './adapter/fetch.ts';
import { getNumber, type Json } from './adapter/json.ts';
import { register } from './adapter/register.ts';
import { checkSettings, type ProviderSettings, withBody } from './adapter/settings.ts';
import { messagesReader } from './dialects/messages/reader.ts';
import { messagesBody, withoutThinking } from './dialects/messages/request.ts';

export interface AnthropicSettings extends ProviderSettings {
	/** How long prompts stay in Anthropic's cache: `5m`; `1h` costs more to write; `false` marks nothing. */
	readonly cache?: '5m' | '1h' | false;
}

/**
 * Anthropic's models, by the Messages API. `baseURL` has no version: `https://api.anthropic.com`. The API knows no
 * `temperature`, `top_p` and `top_k` any more, and refuses them in `body`.
 */
export function anthropic(settings: AnthropicSettings): ProviderRegistration {
	checkSettings('anthropic', settings);
	const { apiKey, baseURL = 'https://api.anthropic.com', body: more, cache = '5m' } = settings;
	const options = {
		...quietSdk,
		apiKey: apiKey || 'none',
		authToken: null,
		webhookKey: null,
		baseURL,
		openTelemetry: false as const,
		fetch: providerFetch(settings, { authorization: `Bearer ${apiKey}` }),
	};
	// The SDK is loaded by the first request: a Worker starts without it.
	let client: BaseAnthropic | undefined;
	const post = async (path: string, body: Json, signal: AbortSignal): Promise<Response> => {
		client ??= new (await import('./adapter/anthropic-sdk.ts')).BaseAnthropic(options);
		return client.post(path, { body, signal }).asResponse();
	};
	return register(
		{
			variant: 'anthropic',
			displayName: 'Anthropic',
			keyName: 'ANTHROPIC_API_KEY',
			detect: prefixDetector('claude'),
			meta: { vision: true, audio: false, reasoning: true, contextWindow: 200_000 },
			send: async (request) => {
				const body = withBody(await messagesBody(request, cache), more);
				try {
					return await post('/v1/messages', body, request.signal);
				} catch (thrown) {
					if (!isThoughtElsewhere(thrown)) throw thrown;
					return post('/v1/messages', withoutThinking(body), request.signal);
				}
			},
			reader: messagesReader,
			countTokens: async (request) => {
				const { model, system, messages, tools } = await messagesBody(request, false);
				const body = { model, system, messages, tools };
				const counted: unknown = await (await post('/v1/messages/count_tokens', body, request.signal)).json();
				return (isRecord(counted) ? getNumber(counted, 'input_tokens') : undefined) ?? 0;
			},
		},
		settings,
	);
}

/**
 * Whether a request was refused for thinking that came out of another conversation: newer models take theirs only
 * behind what it was thought about, and that is changed where older messages are left out or summed up, or with the
 * list of skills (platform.claude.com/docs/en/build-with-claude/preserved-thinking).
 */
function isThoughtElsewhere(thrown: unknown): boolean {
	return /bound to a different conversation/.test(JSON.stringify(findComplaint(thrown)?.body) ?? '');
}
