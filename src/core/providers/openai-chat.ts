import * as v from 'valibot';
import { check } from '../base/check.ts';
import { createFieldError } from '../base/errors.ts';
import { type ProviderMeta, type ProviderRegistration, prefixDetector } from '../chat/index.ts';
import type { ModelRequest } from './adapter/adapter.ts';
import { createEmbed, openaiRequests } from './adapter/openai-client.ts';
import { register } from './adapter/register.ts';
import { checkSettings, type ProviderSettings, withBody } from './adapter/settings.ts';
import { foreseeChat, toChatChoices } from './dialects/chat/provider-tools.ts';
import { ChatReader } from './dialects/chat/reader.ts';
import { type ChatQuirks, toChatBody } from './dialects/chat/request.ts';

export type { ChatQuirks };

export interface OpenAIChatSettings extends Omit<ProviderSettings, 'apiKey' | 'baseURL'> {
	/** The API key. Without a key there is no `Authorization` header. */
	readonly apiKey?: string;
	/** The URL in front of `/chat/completions`, with its version, such as `https://api.example.com/v1`. */
	readonly baseURL: string;
	/** The name in usage, errors and the history. Opaque reply data is sent back only to a provider with this name. */
	readonly name: string;
	/** The prefix of this provider's model names, with its slash: `example/`. Requests leave the prefix out. */
	readonly prefix: string;
	/** The name that people see. The default is `name`. */
	readonly displayName?: string;
	/** Whether a model belongs to this provider. The default compares the prefix. Required if the prefix is empty. */
	readonly detect?: (model: string) => boolean;
	/** The name of the key's variable, for error messages. A provider with a `keyName` needs its key. */
	readonly keyName?: string;
	/** Whether a provider with a `keyName` needs its key. The default is `true`. */
	readonly needsKey?: boolean;
	/** How the endpoint differs from OpenAI's endpoint. */
	readonly quirks?: ChatQuirks;
	/** Whether the endpoint has `/embeddings`. The default is `true`. */
	readonly embeddings?: boolean;
	readonly meta?: ProviderMeta;
}

const required = v.object({
	name: v.pipe(v.string(), v.nonEmpty('must not be empty')),
	prefix: v.string(),
	baseURL: v.pipe(v.string(), v.url('must be a URL, such as https://example.com/v1')),
	displayName: v.optional(v.string()),
	detect: v.optional(v.function()),
});

/** A provider for any endpoint with OpenAI's Chat Completions. */
export function openaiChat(settings: OpenAIChatSettings): ProviderRegistration {
	check(required, settings, 'openaiChat');
	checkSettings('openaiChat', settings);
	const { baseURL, name, prefix, displayName = name, keyName, needsKey, embeddings = true } = settings;
	const detect = settings.detect ?? (prefix === '' ? undefined : prefixDetector(prefix));
	if (detect === undefined)
		throw createFieldError('invalid_request', 'detect', 'missing. An empty prefix needs detect: (model) => …');
	const quirks = { ...findQuirks(baseURL), ...settings.quirks };
	const dialect = { ...quirks, variant: name };
	const { images = true, audio = true } = quirks;
	const requests = openaiRequests(settings);
	return register(
		{
			variant: name,
			displayName,
			keyName,
			needsKey,
			prefix,
			detect,
			meta: {
				vision: images,
				audio,
				reasoning: true,
				hidesThinking: /(^|\.)(openai\.com|x\.ai)$/.test(new URL(baseURL).hostname),
				...settings.meta,
			},
			choose: (choices) => toChatChoices(choices, displayName, quirks),
			foresee: foreseeChat,
			send: (request, more) =>
				requests.post(
					'/chat/completions',
					withBody(toChatBody(request, dialect), more),
					request.signal,
					toCacheHeader(request, dialect),
				),
			reader: (reply) => new ChatReader(reply),
			embed: embeddings ? createEmbed(requests, embeddingsAtOnce) : undefined,
		},
		settings,
	);
}

/** OpenAI's newer models refuse `max_tokens`; Groq and xAI call it deprecated. */
function findQuirks(baseURL: string): ChatQuirks {
	const { hostname } = new URL(baseURL);
	const known = /(?:^|\.)(openai\.com|x\.ai|groq\.com)$/.exec(hostname)?.[1];
	if (known === undefined) return { maxTokens: 'max_tokens' };
	const cacheKey = { 'openai.com': { field: 'prompt_cache_key' }, 'x.ai': { header: 'x-grok-conv-id' } }[known];
	const endUser = known === 'openai.com' ? 'safety_identifier' : 'user';
	return { maxTokens: 'max_completion_tokens', systemInPlace: true, cacheKey, endUser };
}

function toCacheHeader({ cache, cacheKey: key }: ModelRequest, { cacheKey }: ChatQuirks): Record<string, string> {
	if (cacheKey === undefined || !('header' in cacheKey) || key === undefined || cache === false) return {};
	return { [cacheKey.header]: key };
}

/** The maximum number of texts in one embeddings request. Every known endpoint allows more. */
const embeddingsAtOnce = 96;
