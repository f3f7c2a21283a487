import { type CallEstimate, type ProviderRegistration, prefixDetector, type ReasoningEffort } from '../chat/index.ts';
import { reasoningEfforts } from '../chat/provider.ts';
import type { ProviderChoices } from '../chat/provider-tool.ts';
import type { ModelRequest, WireTool } from './adapter/adapter.ts';
import { isStrict, roundEffort } from './adapter/body.ts';
import { type Json, readCount } from './adapter/json.ts';
import { createEmbed, type OpenAIRequests, openaiRequests } from './adapter/openai-client.ts';
import { register } from './adapter/register.ts';
import type { ReplyBuilder, Terms } from './adapter/reply.ts';
import { checkSettings, type ProviderSettings, withBody } from './adapter/settings.ts';
import { groupFoundTools, toToolFields } from './adapter/tools.ts';
import { type ResponsesDialect, toInput } from './dialects/responses/input.ts';
import { foreseeResponses, toResponsesChoices } from './dialects/responses/provider-tools.ts';
import { ResponsesReader } from './dialects/responses/reader.ts';

export interface OpenAISettings extends ProviderSettings {
	/**
	 * Requests a summary of the model's reasoning, which OpenAI otherwise hides. Some accounts must first be verified.
	 */
	readonly reasoningSummary?: 'auto' | 'concise' | 'detailed';
	readonly organization?: string;
	readonly project?: string;
}

/**
 * OpenAI's models, with the Responses API. OpenAI stores only background responses (`body: { background: true }`), and
 * Runlet reads them by id. `baseURL` includes the version: `https://api.openai.com/v1`.
 */
export function openai(settings: OpenAISettings): ProviderRegistration {
	checkSettings('openai', settings);
	const requests = openaiRequests({ ...settings, baseURL: settings.baseURL ?? 'https://api.openai.com/v1' });
	const { post } = requests;
	const dialect: ResponsesDialect = {
		variant: 'openai',
		systemRole: 'developer',
		efforts: openaiEfforts,
		alwaysEncrypts: false,
		ownCustomTools: false,
		reasoningSummary: settings.reasoningSummary,
	};
	return register(
		{
			...createAdapter(dialect, requests, readTerms(settings.baseURL)),
			background: {
				get: (id, signal) => requests.get(`/responses/${encodeURIComponent(id)}?include[]=${encrypted}`, signal),
				cancel: (id) => post(`/responses/${encodeURIComponent(id)}/cancel`, {}, AbortSignal.timeout(cancelMs)),
			},
			displayName: 'OpenAI',
			keyName: 'OPENAI_API_KEY',
			detect: prefixDetector('gpt', 'o1', 'o3', 'o4', 'chatgpt', 'text-embedding-'),
			embed: createEmbed(requests, embeddingsAtOnce),
			countTokens: async (request) => {
				const { model, input } = toBody(request, dialect);
				return readCount(await post('/responses/input_tokens', { model, input }, request.signal), 'input_tokens');
			},
		},
		settings,
	);
}

/** xAI's models, with its Responses API. xAI stores nothing. `baseURL` includes the version: `https://api.x.ai/v1`. */
export function xai(settings: ProviderSettings): ProviderRegistration {
	checkSettings('xai', settings);
	const dialect: ResponsesDialect = {
		variant: 'xai',
		systemRole: 'system',
		efforts: xaiEfforts,
		alwaysEncrypts: true,
		ownCustomTools: true,
	};
	const requests = openaiRequests({ ...settings, baseURL: settings.baseURL ?? 'https://api.x.ai/v1' });
	return register(
		{
			...createAdapter(dialect, requests),
			displayName: 'xAI',
			keyName: 'XAI_API_KEY',
			detect: prefixDetector('grok'),
		},
		settings,
	);
}

/** Requests reasoning in encrypted form, which can be sent back. */
const encrypted = 'reasoning.encrypted_content';
/** The time limit for cancelling a background response, in milliseconds. */
const cancelMs = 5_000;
const embeddingsAtOnce = 2_048;

/** A regional host, such as `eu.api.openai.com`, costs more (developers.openai.com/api/docs/guides/your-data). */
function readTerms(baseURL = ''): Terms {
	return /^https:\/\/[a-z]{2}\.api\.openai\.com\b/.test(baseURL) ? { region: 'regional' } : {};
}

function createAdapter(dialect: ResponsesDialect, { post }: OpenAIRequests, terms: Terms = {}) {
	return {
		variant: dialect.variant,
		meta: {
			vision: true,
			audio: false,
			reasoning: true,
			hidesThinking: true,
			contextWindow: dialect.variant === 'xai' ? 256_000 : 400_000,
		},
		choose: (choices: ProviderChoices) => toResponsesChoices(choices, dialect.variant),
		foresee: (fields: Json, _: string, call: CallEstimate) => ({
			...foreseeResponses(fields, dialect.variant, call),
			...terms,
		}),
		send: (request: ModelRequest, more: Json) =>
			post('/responses', keepInBackground(withBody(toBody(request, dialect), more), more), request.signal),
		reader: (reply: ReplyBuilder, request: ModelRequest) => {
			reply.bill(terms);
			return new ResponsesReader(reply, request, dialect);
		},
	};
}

/** Sets `store` for a background response, because only a stored response can be read by id. */
function keepInBackground(body: Json, more: Json): Json {
	return body.background === true && more.store === undefined ? { ...body, store: true } : body;
}

function toBody(request: ModelRequest, dialect: ResponsesDialect) {
	const { model, messages, system, tools, toolChoice, maxOutputTokens, outputSchema, reasoningEffort, stream } =
		request;
	const { parallelToolCalls } = request;
	const added = takesAddedTools(model, dialect) ? groupFoundTools(request) : new Map<string, readonly WireTool[]>();
	const addedTools = new Set([...added.values()].flat());
	const steps = listEfforts(model, dialect);
	const encrypts = steps.length > 0 || dialect.alwaysEncrypts;
	const effort = reasoningEffort && roundEffort(reasoningEffort, steps);
	const summary = steps.length > 0 ? dialect.reasoningSummary : undefined;
	const schema = outputSchema && { schema: outputSchema, strict: isStrict(outputSchema) };
	return {
		model,
		...(system !== undefined && system !== '' && { instructions: system }),
		input: toInput(messages, dialect, encrypts, new Map([...added].map(([id, later]) => [id, later.map(toFunction)]))),
		store: false,
		...(encrypts && { include: [encrypted] }),
		...(tools.length > 0 && {
			tools: tools.filter((tool) => !addedTools.has(tool)).map(toFunction),
			...(toolChoice !== undefined && {
				tool_choice: typeof toolChoice === 'object' ? { type: 'function', name: toolChoice.name } : toolChoice,
			}),
			...(parallelToolCalls === false && { parallel_tool_calls: false }),
		}),
		// The API refuses a limit below 16.
		...(maxOutputTokens !== undefined && { max_output_tokens: Math.max(16, maxOutputTokens) }),
		...((effort ?? summary) !== undefined && { reasoning: { ...(effort && { effort }), ...(summary && { summary }) } }),
		...(schema && { text: { format: { type: 'json_schema', name: 'reply', ...schema } } }),
		...toCacheFields(request, dialect),
		...(stream && { stream }),
	};
}

function toFunction({ name, description, inputSchema, provider = {} }: WireTool): Json {
	const { strict = false, ...fields } = toToolFields(provider);
	const parameters = { type: 'object', properties: {}, ...inputSchema };
	return { type: 'function', name, description, parameters, strict, ...fields };
}

/** Whether a model accepts `additional_tools` after the tool result that brought these tools. */
function takesAddedTools(model: string, { variant }: ResponsesDialect): boolean {
	return variant === 'openai' && /^(ft:)?gpt-(5\.[5-9]|[6-9])/i.test(model);
}

/**
 * Requests with the same key reach the same cache. OpenAI's older models keep a prompt for a few minutes or for
 * 24 hours. From version 5.6 on, models keep a prompt for at least 30 minutes.
 */
function toCacheFields({ model, cache, cacheKey }: ModelRequest, { variant }: ResponsesDialect): Json {
	if (cache === false) return {};
	const keepsLong = cache === '1h' && variant === 'openai' && /^(ft:)?gpt-(4\.1|5(-|$|\.[1-5]))/i.test(model);
	return {
		...(cacheKey !== undefined && { prompt_cache_key: cacheKey }),
		...(keepsLong && { prompt_cache_retention: '24h' }),
	};
}

/** The effort levels by model. Sources: https://developers.openai.com/api/docs/guides/reasoning and the model pages. */
const openaiEfforts: ResponsesDialect['efforts'] = [
	[/^(ft:)?(gpt-[34]|chatgpt|gpt-5[\d.]*-chat)/i, ''],
	[/^(ft:)?(o\d|codex)/i, 'low medium high'],
	[/^gpt-5-pro/i, 'high'],
	[/^gpt-5\.\d+-pro/i, 'medium high xhigh'],
	[/^gpt-5(\.1)?-codex(?!-max)/i, 'low medium high'],
	[/^gpt-5\.[1-3]-codex/i, 'low medium high xhigh'],
	[/^gpt-5(-|$)/i, 'minimal low medium high'],
	[/^gpt-5\.1/i, 'none low medium high'],
	[/^gpt-5\.[2-5]/i, 'none low medium high xhigh'],
	[/^/, 'none low medium high xhigh max'],
];

/** Models before grok-4.3, except grok-3-mini, refuse the field (https://docs.x.ai/docs/guides/reasoning). */
const xaiEfforts: ResponsesDialect['efforts'] = [
	[/^grok-3-mini/i, 'low high'],
	[/^grok-([23]|4(\.1|\.20?)?(-|$)|code|beta|vision)/i, ''],
	[/^grok-4\.3/i, 'none low medium high'],
	[/^/, 'low medium high'],
];

function listEfforts(model: string, dialect: ResponsesDialect): readonly ReasoningEffort[] {
	const steps = dialect.efforts.find(([pattern]) => pattern.test(model))?.[1] ?? '';
	return reasoningEfforts.filter((step) => steps.split(' ').includes(step));
}
