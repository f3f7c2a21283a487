import type Anthropic from '@anthropic-ai/sdk';
import type { Tool as ResponsesTool } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import type { ProviderChoices, ProviderTool } from '../../../src/core/chat/index.ts';
import {
	type ChatReply,
	chat,
	type ProviderRegistration,
	providers,
	type RunletError,
	tool,
} from '../../../src/core/index.ts';
import { makers } from './choices-makers.ts';

const hello = [chat.userMessage('Hello')];

/** Sends one request to a provider. Returns its body and headers. */
async function send(
	name: keyof typeof makers,
	choices: ProviderChoices & { readonly model?: string },
	tools: Parameters<NonNullable<ProviderRegistration['chatFn']>>[3] = [],
	settings = {},
) {
	const { make, model, answer } = makers[name];
	const requests: { readonly body: Readonly<Record<string, unknown>>; readonly headers: Headers }[] = [];
	const fetch = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
		requests.push({ body: JSON.parse(`${init.body}`), headers: new Headers(init.headers) });
		return Response.json(answer);
	};
	const provider = make({ apiKey: 'key', fetch, ...settings });
	const { model: other = model, ...options } = choices;
	const reply: ChatReply | undefined = await provider.chatFn?.(other, hello, undefined, tools, options);
	expect(reply?.text).toBe('Hi.');
	const [request] = requests;
	if (request === undefined) throw new Error('no request');
	return request;
}

async function refusal(name: keyof typeof makers, ...providerTools: ProviderTool[]): Promise<RunletError> {
	return send(name, { providerTools }).then(
		() => {
			throw new Error('was sent');
		},
		(error) => error,
	);
}

const places = { city: 'Ulm', type: 'approximate' } as const;

describe('Anthropic gets', () => {
	test('each tool with a dated version and its limits', async () => {
		const { body, headers } = await send('anthropic', {
			providerTools: [
				'web_search',
				{ type: 'web_search', maxUses: 2, allowedDomains: ['a.example'], user_location: places },
				{ type: 'web_fetch', blockedDomains: ['b.example'], citations: { enabled: true } },
				'code_execution',
				{ type: 'web_search_20260209', maxUses: 3 },
			],
		});
		const expected: Anthropic.MessageCreateParams['tools'] = [
			{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
			{
				type: 'web_search_20250305',
				name: 'web_search',
				max_uses: 2,
				allowed_domains: ['a.example'],
				user_location: places,
			},
			{
				type: 'web_fetch_20250910',
				name: 'web_fetch',
				max_uses: 5,
				blocked_domains: ['b.example'],
				citations: { enabled: true },
			},
			{ type: 'code_execution_20250825', name: 'code_execution' },
			{ type: 'web_search_20260209', name: 'web_search', max_uses: 3 },
		];
		expect(body.tools).toEqual(expected);
		expect(headers.get('anthropic-beta')).toBeNull();
	});

	test('an MCP server with its tools and the required header', async () => {
		const default_config = { defer_loading: true };
		const { body, headers } = await send('anthropic', {
			providerTools: [
				{ type: 'mcp', name: 'docs', url: 'https://docs.example/mcp', authorization_token: 'secret', default_config },
			],
		});
		const server: Anthropic.Beta.BetaRequestMCPServerURLDefinition = {
			type: 'url',
			name: 'docs',
			url: 'https://docs.example/mcp',
			authorization_token: 'secret',
		};
		const toolset: Anthropic.Beta.BetaMCPToolset = { type: 'mcp_toolset', mcp_server_name: 'docs', default_config };
		expect(body.mcp_servers).toEqual([server]);
		expect(body.tools).toEqual([toolset]);
		expect(headers.get('anthropic-beta')).toBe('mcp-client-2025-11-20');
	});

	test('the tier, the speed with its header, the region and the end user', async () => {
		const choices = { serviceTier: 'standard', speed: 'fast', region: 'us', endUser: 'u_1' } as const;
		const { body, headers } = await send('anthropic', choices, [], { headers: { 'Anthropic-Beta': 'other' } });
		const expected: Partial<Anthropic.MessageCreateParams> = {
			service_tier: 'standard_only',
			speed: 'fast',
			inference_geo: 'us',
			metadata: { user_id: 'u_1' },
		};
		expect(body).toMatchObject(expected);
		expect(headers.get('anthropic-beta')).toBe('other,fast-mode-2026-02-01');
		expect((await send('anthropic', { serviceTier: 'priority' })).body.service_tier).toBe('auto');
		expect((await send('anthropic', { serviceTier: 'flex' })).body.service_tier).toBeUndefined();
	});
});

test('only OpenAI is asked to answer in the background, and stores the answer', async () => {
	const { body } = await send('openai', { background: true });
	expect(body).toMatchObject({ background: true, store: true });
	for (const name of ['anthropic', 'xai', 'gemini', 'groq'] as const)
		expect((await send(name, { background: true })).body).not.toHaveProperty('background');
});

describe('OpenAI gets', () => {
	test('each tool with its fields, the limit of uses, and the requested results', async () => {
		const { body } = await send('openai', {
			providerTools: [
				{ type: 'web_search', maxUses: 2, allowedDomains: ['a.example'], search_context_size: 'low' },
				'code_execution',
				{ type: 'file_search', vector_store_ids: ['vs_1'], maxUses: 1 },
				{ type: 'mcp', name: 'docs', url: 'https://docs.example/mcp', allowed_tools: ['read'] },
				{ type: 'image_generation', size: '1024x1024', maxUses: 1 },
			],
		});
		const expected: readonly ResponsesTool[] = [
			{ type: 'web_search', filters: { allowed_domains: ['a.example'] }, search_context_size: 'low' },
			{ type: 'code_interpreter', container: { type: 'auto' } },
			{ type: 'file_search', vector_store_ids: ['vs_1'] },
			{
				type: 'mcp',
				server_label: 'docs',
				server_url: 'https://docs.example/mcp',
				require_approval: 'never',
				allowed_tools: ['read'],
			},
			{ type: 'image_generation', size: '1024x1024' },
		];
		expect(body.tools).toEqual(expected);
		expect(body.max_tool_calls).toBe(14);
		expect(body.include).toEqual([
			'reasoning.encrypted_content',
			'web_search_call.action.sources',
			'code_interpreter_call.outputs',
			'file_search_call.results',
		]);
	});

	test('blocked domains, and the configured container', async () => {
		const { body } = await send('openai', {
			providerTools: [
				{ type: 'web_search', blockedDomains: ['b.example'] },
				{ type: 'code_execution', container: 'cntr_1' },
			],
		});
		expect(body.tools).toEqual([
			{ type: 'web_search', filters: { blocked_domains: ['b.example'] } },
			{ type: 'code_interpreter', container: 'cntr_1' },
		]);
	});

	test.each([
		[{ serviceTier: 'flex' }, 'flex'],
		[{ serviceTier: 'priority' }, 'priority'],
		[{ serviceTier: 'standard' }, 'default'],
		[{ speed: 'fast' }, 'priority'],
		[{}, undefined],
	] as const)('the tier that %j requests', async (choices, tier) => {
		expect((await send('openai', choices)).body.service_tier).toBe(tier);
	});

	test('the end user', async () => {
		expect((await send('openai', { endUser: 'u_1' })).body).toMatchObject({ safety_identifier: 'u_1' });
	});
});

describe('xAI gets', () => {
	test('each tool that xAI supports', async () => {
		const { body } = await send('xai', {
			providerTools: [
				{ type: 'web_search', blockedDomains: ['b.example'] },
				'code_execution',
				{ type: 'file_search', vector_store_ids: ['vs_1'] },
				{ type: 'mcp', name: 'docs', url: 'https://docs.example/mcp' },
				{ type: 'x_search', allowed_x_handles: ['xai'] },
			],
		});
		expect(body.tools).toEqual([
			{ type: 'web_search', filters: { excluded_domains: ['b.example'] } },
			{ type: 'code_interpreter' },
			{ type: 'file_search', vector_store_ids: ['vs_1'] },
			{ type: 'mcp', server_label: 'docs', server_url: 'https://docs.example/mcp' },
			{ type: 'x_search', allowed_x_handles: ['xai'] },
		]);
		expect(body.max_tool_calls).toBeUndefined();
	});

	test('no limit for the uses of its tools, so all expected uses are reserved', () => {
		const provider = providers.xai({ apiKey: 'k' });
		const most = (maxUses?: number) =>
			provider.computeMost?.('grok-4.5', {
				inputTokens: 100,
				outputTokens: 0,
				providerTools: [{ type: 'web_search', ...(maxUses && { maxUses }) }],
			});
		expect(most(1)).toMatchObject({ inputTokens: 10_200, unitsUsd: 0.005 });
		expect(most()).toMatchObject({ inputTokens: 150_600, unitsUsd: 0.025 });
		expect(most(20)).toMatchObject({ unitsUsd: 0.1 });
	});

	test('only tiers that xAI supports', async () => {
		expect((await send('xai', { serviceTier: 'priority', endUser: 'u_1' })).body).toMatchObject({
			service_tier: 'priority',
			user: 'u_1',
		});
		expect((await send('xai', { serviceTier: 'flex' })).body.service_tier).toBeUndefined();
	});
});

describe('Gemini gets', () => {
	test('each tool as its own field', async () => {
		const { body } = await send('gemini', {
			serviceTier: 'flex',
			providerTools: [
				{ type: 'web_search', time_range_filter: { start_time: '2026-01-01T00:00:00Z' } },
				'web_fetch',
				'code_execution',
				{ type: 'file_search', file_search_store_names: ['fileSearchStores/one'] },
			],
		});
		expect(body).toMatchObject({ serviceTier: 'flex' });
		expect(body.tools).toEqual([
			{ google_search: { time_range_filter: { start_time: '2026-01-01T00:00:00Z' } } },
			{ url_context: {} },
			{ code_execution: {} },
			{ file_search: { file_search_store_names: ['fileSearchStores/one'] } },
		]);
		expect(body.toolConfig).toBeUndefined();
	});

	test('functions together with provider tools only from version 3 on', async () => {
		const { body } = await send('gemini', { providerTools: ['web_search'], model: 'gemini-3-flash' }, [look]);
		expect(body.toolConfig).toEqual({ includeServerSideToolInvocations: true });
		expect(body.tools).toEqual([
			{ functionDeclarations: [expect.objectContaining({ name: 'look' })] },
			{ google_search: {} },
		]);
		await expect(send('gemini', { providerTools: ['web_search'] }, [look])).rejects.toMatchObject({
			code: 'invalid_request',
			message: expect.stringMatching(/providerTools: gemini-2.5-flash takes them only without other tools/),
		});
	});
});

describe('an endpoint of Chat Completions gets', () => {
	test('the tools of Groq under the names that Groq uses', async () => {
		const { body } = await send('groq', { providerTools: ['web_search', 'code_execution'], endUser: 'u_1' });
		expect(body).toMatchObject({ tools: [{ type: 'browser_search' }, { type: 'code_interpreter' }], user: 'u_1' });
	});

	test.each([
		['groq', 'priority', 'performance'],
		['groq', 'flex', 'flex'],
		['deepseek', 'priority', undefined],
		['mistral', 'flex', undefined],
		['ollama', 'priority', undefined],
		['openaiChat', 'priority', 'priority'],
		['openaiChat', 'standard', undefined],
	] as const)('the tier field that %s accepts for %s, if any', async (name, serviceTier, sent) => {
		expect((await send(name, { serviceTier })).body.service_tier).toBe(sent);
	});

	test.each([
		['groq', 'user'],
		['deepseek', 'user_id'],
		['openaiChat', 'user'],
		['mistral', undefined],
		['ollama', undefined],
	] as const)('the field that %s accepts for the end user, if any', async (name, field) => {
		const { body } = await send(name, { endUser: 'u_1' });
		expect(Object.keys(body).find((key) => body[key] === 'u_1')).toBe(field);
	});

	test('a provider tool unchanged if Runlet does not know the tool', async () => {
		const { body } = await send('openaiChat', { providerTools: [{ type: 'lookup', depth: 2 }] });
		expect(body.tools).toEqual([{ type: 'lookup', depth: 2 }]);
	});
});

describe('domains are refused if the provider ignores them', () => {
	const limited = { type: 'web_search', allowedDomains: ['a.example'] };
	test.each([
		['gemini', limited, 'Gemini has no allowedDomains for web_search'],
		['gemini', { type: 'web_fetch', blockedDomains: [] }, 'Gemini has no blockedDomains for web_fetch'],
		['groq', limited, 'Groq has no allowedDomains for web_search'],
		['openai', { ...limited, type: 'file_search' }, 'OpenAI has no allowedDomains for file_search'],
		['anthropic', { ...limited, type: 'code_execution' }, 'Anthropic has no allowedDomains for code_execution'],
	] as const)('by %s for %j', async (name, given, says) => {
		const error = await refusal(name, given);
		expect(error).toMatchObject({ code: 'invalid_request', data: { field: 'providerTools' } });
		expect(error.message).toBe(`providerTools: ${says}. Leave it out, or choose a model of another provider.`);
	});
});

const inputSchema = { type: 'object', properties: {}, required: [], additionalProperties: false };
const look = tool.define({
	name: 'look',
	description: 'Looks.',
	inputSchema,
	provider: { strict: true, deferLoading: true, allowedCallers: ['direct', 'code_execution_20250825'] },
});

describe('the provider settings of a tool', () => {
	test('reach Anthropic, without a cache mark on a deferred tool', async () => {
		const plain = tool.define({ name: 'see', description: 'Sees.', inputSchema });
		const { body } = await send('anthropic', {}, [plain, look]);
		const expected: Partial<Anthropic.Tool> = {
			name: 'look',
			strict: true,
			defer_loading: true,
			allowed_callers: ['direct', 'code_execution_20250825'],
		};
		expect(body.tools).toEqual([
			expect.objectContaining({ name: 'see', cache_control: expect.anything() }),
			expect.objectContaining(expected),
		]);
		expect(body.tools).not.toEqual([expect.anything(), expect.objectContaining({ cache_control: expect.anything() })]);
	});

	test('reach OpenAI', async () => {
		const expected: Partial<ResponsesTool> = { type: 'function', name: 'look', strict: true, defer_loading: true };
		const { body } = await send('openai', {}, [look]);
		expect(body.tools).toEqual([expect.objectContaining(expected)]);
	});

	test('are reduced to `strict` for Chat Completions', async () => {
		const { body } = await send('groq', {}, [look]);
		expect(body.tools).toEqual([
			{ type: 'function', function: expect.objectContaining({ name: 'look', strict: true }) },
		]);
		expect(JSON.stringify(body)).not.toContain('defer');
	});

	test('do not reach Gemini, which has no such field', async () => {
		const { body } = await send('gemini', {}, [look]);
		expect(JSON.stringify(body)).not.toMatch(/strict|defer|callers/i);
	});

	test('survive a round trip through JSON, and unknown fields are refused', () => {
		expect(tool.toData([look])[0]?.provider).toEqual(look.provider);
		const wrong = { name: 'x', description: 'X.', inputSchema: {}, provider: { stricct: true } };
		expect(() => tool.define(wrong as never)).toThrow(
			/^provider: expected { strict\?, deferLoading\?, allowedCallers\? }/,
		);
	});
});
