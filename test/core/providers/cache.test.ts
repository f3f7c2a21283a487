/** The cache marks of prompts, and the places of tools that are found later. */
import { describe, expect, test } from 'vitest';
import { isRecord } from '../../../src/core/base/json.ts';
import {
	chat,
	type Message,
	type ProviderRegistration,
	providers,
	type Tool,
	type ToolCall,
} from '../../../src/core/index.ts';
import { calling, finish, readTool } from '../chat/support.ts';

type Json = Readonly<Record<string, unknown>>;
type Options = NonNullable<Parameters<NonNullable<ProviderRegistration['chatFn']>>[4]>;

const hello: readonly Message[] = [chat.userMessage('Hello')];
const tools: readonly Tool[] = ['look', 'late', 'later'].map((name) => readTool(name, () => 'fine'));
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Sends a request. Returns its body and headers. */
async function send(
	make: (settings: { apiKey: string; fetch: typeof fetch }) => ProviderRegistration,
	model: string,
	{
		messages = hello,
		...options
	}: Options & { readonly messages?: readonly Message[]; readonly tools?: readonly Tool[] } = {},
): Promise<{ readonly body: Json; readonly headers: Headers }> {
	const requests: { body: Json; headers: Headers }[] = [];
	const provider = make({
		apiKey: 'key',
		fetch: async (input, init) => {
			const request = new Request(input, init);
			requests.push({ body: JSON.parse(await request.text()), headers: request.headers });
			return Response.json({}, { status: 400 });
		},
	});
	const { tools: sent = tools } = options;
	await Promise.allSettled([provider.chatFn?.(model, messages, 'Be brief.', sent, options)]);
	const [request] = requests;
	if (request === undefined) throw new Error('nothing was sent');
	return request;
}

const ask = (...ids: readonly string[]): Message[] => [
	chat.assistantMessage(
		'',
		ids.map((id): ToolCall => ({ id, name: 'look', input: {} })),
	),
	...ids.map((id) => chat.toolResultMessage({ id, output: `result ${id}`, isError: false })),
];

describe('Anthropic', () => {
	const model = 'claude-sonnet-4-6';
	const mark = { type: 'ephemeral' };
	/** Lists the marked places of a body. */
	const listMarks = ({ tools, system, messages }: Json) => ({
		tools: list(tools)
			.filter((tool) => tool.cache_control)
			.map(({ name }) => name),
		system: list(system).filter((block) => block.cache_control).length,
		messages: list(messages).flatMap(({ content }, at) =>
			list(content).flatMap((block, place) => (block.cache_control ? [[at, place]] : [])),
		),
	});

	test('marks the tools, the system prompt, the end of the previous request and the end of this request', async () => {
		const ids = Array.from({ length: 30 }, (_, n) => `c${n}`);
		const { body } = await send(providers.anthropic, model, { messages: [...hello, ...ask('a'), ...ask(...ids)] });
		expect(listMarks(body)).toEqual({
			tools: ['later'],
			system: 1,
			messages: [
				[2, 0],
				[4, 29],
			],
		});
	});

	test('puts its first mark in the messages at the end of the previous request', async () => {
		const before = await send(providers.anthropic, model, { messages: [...hello, ...ask('a')] });
		const { body } = await send(providers.anthropic, model, { messages: [...hello, ...ask('a'), ...ask('b')] });
		expect(listMarks(before.body).messages.at(-1)).toEqual(listMarks(body).messages[0]);
	});

	test('marks the block before a thinking block, because thinking cannot be marked', async () => {
		const thinking = { type: 'thinking', thinking: '', signature: 's' };
		const paused: Message = {
			role: 'assistant',
			content: '',
			providerMetadata: { anthropic: { content: [thinking] } },
		};
		const { body } = await send(providers.anthropic, model, { messages: [...hello, paused] });
		expect(listMarks(body).messages).toEqual([[0, 0]]);
	});

	test.each([
		[undefined, '1h', { ...mark, ttl: '1h' }],
		['5m', '1h', mark],
		['1h', '5m', { ...mark, ttl: '1h' }],
		['auto', '1h', mark],
		[false, '5m', undefined],
		['5m', false, mark],
	] as const)('the agent’s cache setting %s wins over the provider’s %s', async (cache, usual, expected) => {
		const make = (settings: object) => providers.anthropic({ apiKey: 'key', ...settings, cache: usual });
		const { body } = await send(make, model, { cache });
		expect(list(body.system)[0]?.cache_control).toEqual(expected);
	});

	const found = new Map([
		['late', 'a'],
		['later', 'a'],
	]);
	const messages = [...hello, ...ask('a', 'b')];

	test('defers a found tool, and begins the search result with a reference to that tool', async () => {
		const { body } = await send(providers.anthropic, model, { messages, foundBy: found });
		expect(
			list(body.tools).map(({ name, defer_loading, cache_control }) => [name, defer_loading, cache_control]),
		).toEqual([
			['look', undefined, mark],
			['late', true, undefined],
			['later', true, undefined],
		]);
		const reference = (tool_name: string) => ({ type: 'tool_reference', tool_name });
		expect(list(body.messages).at(-1)?.content).toEqual([
			{ type: 'tool_result', tool_use_id: 'a', content: [reference('late'), reference('later')] },
			{ type: 'tool_result', tool_use_id: 'b', content: 'result b' },
			{ type: 'text', text: 'result a', cache_control: mark },
		]);
	});

	test.each([
		['for an older model', 'claude-3-7-sonnet-latest', messages],
		['if the search result is not sent', model, hello],
	])('lists the found tools last %s', async (_, name, sent) => {
		const { body } = await send(providers.anthropic, name, { messages: sent, foundBy: found });
		expect(JSON.stringify(body)).not.toMatch(/defer_loading|tool_reference/);
		expect(listMarks(body).tools).toEqual(['later']);
	});
});

describe('OpenAI', () => {
	test.each([
		['gpt-5', '1h', { prompt_cache_key: 'k', prompt_cache_retention: '24h' }],
		['gpt-4.1-mini', '1h', { prompt_cache_key: 'k', prompt_cache_retention: '24h' }],
		['gpt-4o', '1h', { prompt_cache_key: 'k' }],
		['gpt-5.6', '1h', { prompt_cache_key: 'k' }],
		['gpt-5', '5m', { prompt_cache_key: 'k' }],
		['gpt-5', undefined, { prompt_cache_key: 'k' }],
		['gpt-5', false, {}],
	] as const)('sends %s the cache fields for the setting %s', async (model, cache, fields) => {
		const { body } = await send(providers.openai, model, { cache, cacheKey: 'k' });
		const { prompt_cache_key, prompt_cache_retention } = body;
		expect(JSON.parse(JSON.stringify({ prompt_cache_key, prompt_cache_retention }))).toEqual(fields);
	});

	test('adds a found tool after the results of the turn that found it', async () => {
		const foundBy = new Map([['later', 'a']]);
		const { body } = await send(providers.openai, 'gpt-5.6', {
			messages: [...hello, ...ask('a', 'b'), ...hello],
			foundBy,
		});
		expect(list(body.tools).map(({ name }) => name)).toEqual(['look', 'late']);
		expect(list(body.input).map(({ type, role }) => type ?? role)).toEqual([
			'user',
			'function_call',
			'function_call',
			'function_call_output',
			'function_call_output',
			'additional_tools',
			'user',
		]);
		const added = list(body.input).find(({ type }) => type === 'additional_tools');
		expect(added).toMatchObject({ role: 'developer', tools: [{ type: 'function', name: 'later' }] });
		const older = await send(providers.openai, 'gpt-5', { messages: [...hello, ...ask('a')], foundBy });
		expect(list(older.body.tools).map(({ name }) => name)).toEqual(['look', 'late', 'later']);
	});
});

test('xAI, Workers AI and some endpoints get the cache key of the conversation', async () => {
	const options = { cacheKey: 'k' };
	expect((await send(providers.xai, 'grok-4', options)).body.prompt_cache_key).toBe('k');
	const at = (baseURL: string) => (settings: object) =>
		providers.openaiChat({ ...settings, name: 'x', prefix: 'x/', baseURL });
	const xai = at('https://api.x.ai/v1');
	expect((await send(xai, 'x/grok-4', options)).headers.get('x-grok-conv-id')).toBe('k');
	expect((await send(xai, 'x/grok-4', { ...options, cache: false })).headers.get('x-grok-conv-id')).toBeNull();
	expect((await send(at('https://api.openai.com/v1'), 'x/gpt-4o', options)).body.prompt_cache_key).toBe('k');
	for (const make of [providers.groq, providers.deepseek, providers.mistral, at('https://llm.example.com')]) {
		const { body, headers } = await send(make, 'x/m', options);
		expect(body.prompt_cache_key).toBeUndefined();
		expect(headers.get('x-grok-conv-id')).toBeNull();
	}
	const runs: unknown[] = [];
	const binding = { run: async (_: string, __: object, options?: object) => void runs.push(options) };
	const { chatFn } = providers.workersAi({ binding });
	for (const cache of [undefined, false] as const)
		await Promise.allSettled([chatFn?.('workers-ai/@cf/zai-org/glm-5.2', hello, undefined, [], { ...options, cache })]);
	expect(runs[0]).toMatchObject({ extraHeaders: { 'x-session-affinity': 'k' } });
	expect(runs[1]).not.toHaveProperty('extraHeaders');
});

test('a run passes cache, cacheKey and foundBy to its requests, but does not cache a summary', async () => {
	const many = Array.from({ length: 41 }, (_, n) => readTool(`tool_${n}`, () => n));
	const search = calling({ id: 's', name: 'search_tools', input: { query: 'tool_7' } });
	const { requests } = await finish([search, 'done'], { tools: many, cache: '1h', cacheKey: 'k' });
	expect(requests.map(({ options }) => [options?.cache, options?.cacheKey])).toEqual([
		['1h', 'k'],
		['1h', 'k'],
	]);
	expect(requests[1]?.options?.foundBy?.get('tool_7')).toBe('s');
	const long = [chat.userMessage('x'.repeat(8_000)), chat.assistantMessage('Yes.'), chat.userMessage('And now?')];
	const compact = await finish(
		['A summary.', 'done'],
		{ maxContextTokens: 1_500, contextFull: 'compact', cache: '1h' },
		long,
	);
	expect(compact.requests.map(({ options }) => options?.cache)).toEqual([false, '1h']);
});
