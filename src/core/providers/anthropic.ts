import { type ProviderRegistration, prefixDetector } from '../chat/index.ts';
import type { ModelRequest } from './adapter/adapter.ts';
import type { BaseAnthropic } from './adapter/anthropic-sdk.ts';
import { findComplaint } from './adapter/failure.ts';
import { providerFetch, quietSdk } from './adapter/fetch.ts';
import { getObject, getString, type Json, readCount } from './adapter/json.ts';
import { register } from './adapter/register.ts';
import { checkSettings, type ProviderSettings, withBody } from './adapter/settings.ts';
import { foreseeMessages, listContextBetas, toMessagesChoices } from './dialects/messages/provider-tools.ts';
import { MessagesReader } from './dialects/messages/reader.ts';
import { removeThinking, toMessagesBody } from './dialects/messages/request.ts';

export interface AnthropicSettings extends ProviderSettings {
	/** How long prompts stay in Anthropic's cache: `5m`, `1h` (writing costs more), or `false` for no cache. */
	readonly cache?: '5m' | '1h' | false;
}

/**
 * Anthropic's models, with the Messages API. `baseURL` has no version: `https://api.anthropic.com`. The API refuses
 * `temperature`, `top_p` and `top_k` in `body`.
 */
export function anthropic(settings: AnthropicSettings): ProviderRegistration {
	checkSettings('anthropic', settings);
	const { apiKey, baseURL = 'https://api.anthropic.com', cache = '5m' } = settings;
	const { headers, betas } = splitBetas(settings.headers);
	const options = {
		...quietSdk,
		apiKey: apiKey || 'none',
		authToken: null,
		webhookKey: null,
		baseURL,
		openTelemetry: false as const,
		fetch: providerFetch({ ...settings, headers }, { authorization: `Bearer ${apiKey}` }),
	};
	// The first request loads the SDK, so a Worker starts without it.
	let client: BaseAnthropic | undefined;
	const post = async (path: string, body: Json, signal: AbortSignal): Promise<Response> => {
		client ??= new (await import('./adapter/anthropic-sdk.ts')).BaseAnthropic(options);
		const needed = [
			...betas,
			...(body.mcp_servers === undefined ? [] : ['mcp-client-2025-11-20']),
			...(body.speed === 'fast' ? ['fast-mode-2026-02-01'] : []),
			...listContextBetas(body),
		];
		// Without this header the SDK might read the betas from a variable.
		const beta = needed.length === 0 ? null : needed.join(',');
		return client.post(path, { body, signal, headers: { 'anthropic-beta': beta } }).asResponse();
	};
	return register(
		{
			variant: 'anthropic',
			displayName: 'Anthropic',
			keyName: 'ANTHROPIC_API_KEY',
			detect: prefixDetector('claude'),
			meta: { vision: true, audio: false, reasoning: true, hidesThinking: true, contextWindow: 200_000 },
			choose: toMessagesChoices,
			foresee: (fields, _, call) => {
				const { units, ...foreseen } = foreseeMessages(fields, call.inputTokens);
				const ttl = getString(getObject(fields, 'cache_control'), 'ttl');
				const isHour = ttl === '1h' || chooseCache(call.cache, cache) === '1h';
				return { ...foreseen, units: { ...units, ...(isHour && { cache_write_1h_tokens: 1 }) } };
			},
			send: async (request, more) => {
				const body = withBody(await toMessagesBody(request, chooseCache(request.cache, cache)), more);
				try {
					return await post('/v1/messages', body, request.signal);
				} catch (thrown) {
					if (!isForeignThinking(thrown)) throw thrown;
					return post('/v1/messages', removeThinking(body), request.signal);
				}
			},
			reader: (reply) => new MessagesReader(reply),
			countTokens: async (request) => {
				const { model, system, messages, tools } = await toMessagesBody(request, false);
				const body = { model, system, messages, tools };
				return readCount(await post('/v1/messages/count_tokens', body, request.signal), 'input_tokens');
			},
		},
		settings,
	);
}

/** Separates the betas from the other headers, because requests may need more betas. */
function splitBetas(headers: ProviderSettings['headers'] = {}) {
	const isBeta = (name: string): boolean => name.toLowerCase() === 'anthropic-beta';
	const all = Object.entries(headers);
	return {
		headers: Object.fromEntries(all.filter(([name]) => !isBeta(name))),
		betas: all.filter(([name]) => isBeta(name)).map(([, value]) => value),
	};
}

/** A session replaces `auto` according to its earlier pauses. Outside of a session, `auto` means five minutes. */
function chooseCache(wanted: ModelRequest['cache'], usual: '5m' | '1h' | false): '5m' | '1h' | false {
	return wanted === 'auto' ? '5m' : (wanted ?? usual);
}

/**
 * Whether the API refused the request because of its thinking. Newer models accept their earlier thinking only
 * if the messages before it are the same. These messages differ if older messages were left out or summarized,
 * or if the list of skills changed (platform.claude.com/docs/en/build-with-claude/preserved-thinking).
 */
function isForeignThinking(thrown: unknown): boolean {
	return /bound to a different conversation/.test(JSON.stringify(findComplaint(thrown)?.body) ?? '');
}
