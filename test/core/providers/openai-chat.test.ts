/** Features of Chat Completions: different endpoints, calls in pieces, and data that is sent back. */

import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import {
	type ChatReply,
	chat,
	type Message,
	type ProviderRegistration,
	providers,
	type Tool,
} from '../../../src/core/index.ts';
import { asRunletError } from '../chat/support.ts';
import { chunk, done, usageChunk } from './wire/chat.ts';
import { citySchema, sse, usualUsage } from './wire/dialect.ts';
import { startServer } from './wire/server.ts';

const server = await startServer();
afterAll(() => server.close());
afterEach(() => server.check());

const look: Tool = { name: 'look', description: 'Looks at a city.', inputSchema: citySchema };
const hello: readonly Message[] = [chat.userMessage('Hello')];

type Settings = Parameters<typeof providers.openaiChat>[0];
type CallOptions = Parameters<NonNullable<ProviderRegistration['chatFn']>>[4];

function endpoint(settings: Partial<Settings> = {}): ProviderRegistration {
	return providers.openaiChat({
		apiKey: 'key',
		baseURL: `${server.url}/v1`,
		name: 'acme',
		prefix: 'acme/',
		...settings,
	});
}

interface Asked {
	readonly messages?: readonly Message[];
	readonly model?: string;
	readonly system?: string;
	readonly tools?: readonly Tool[];
	readonly options?: CallOptions;
}

/** Returns the reply to a stream of these events. */
async function streamed(provider: ProviderRegistration, events: readonly string[], asked: Asked = {}) {
	server.play(async (exchange) => {
		await exchange.write(events.join(''));
		exchange.end();
	});
	const { model = `${provider.variant}/m-1`, messages = hello, system, tools, options } = asked;
	const deltas: unknown[] = [];
	const reply = await provider.chatStreamFn?.(
		model,
		messages,
		system,
		tools,
		(delta) => {
			deltas.push(delta);
			return undefined;
		},
		options,
	);
	if (reply === undefined) throw new Error('no reply');
	return { reply, deltas };
}

async function wholeReply(provider: ProviderRegistration, body: unknown, asked: Asked = {}): Promise<ChatReply> {
	server.play((exchange) => exchange.json(200, body));
	const { model = `${provider.variant}/m-1`, messages = hello, system, tools, options } = asked;
	const reply = await provider.chatFn?.(model, messages, system, tools, options);
	if (reply === undefined) throw new Error('no reply');
	return reply;
}

/** Returns the error of a failing call. */
async function failure(asked: Promise<unknown> | (() => Promise<unknown>)) {
	try {
		await (typeof asked === 'function' ? asked() : asked);
	} catch (error) {
		return asRunletError(error);
	}
	throw new Error('it did not fail');
}

function completion(message: unknown, more: Readonly<Record<string, unknown>> = {}) {
	return { id: 'c-1', model: 'm-1', choices: [{ index: 0, message, finish_reason: 'stop', ...more }] };
}

/** Returns the sent body. */
async function sent(provider: ProviderRegistration, asked: Asked = {}): Promise<unknown> {
	await wholeReply(provider, completion({ role: 'assistant', content: 'Hi.' }), asked);
	return server.requests[0]?.body;
}

describe('settings', () => {
	const given = { name: 'acme', prefix: 'acme/', baseURL: 'https://api.acme.example/v1' };

	test.each(['name', 'prefix', 'baseURL'] as const)('cause an error that names the missing %s', (field) => {
		const { [field]: _, ...rest } = given;
		// @ts-expect-error: the field is missing
		expect(() => providers.openaiChat(rest)).toThrow(
			expect.objectContaining({ code: 'invalid_request', data: { field } }),
		);
	});

	test('cause an error that names an invalid base URL', () => {
		expect(() => providers.openaiChat({ ...given, baseURL: 'api.acme.example' })).toThrow('baseURL: must be a URL');
	});

	test('require a `detect` function if the prefix is empty', async () => {
		expect(() => providers.openaiChat({ ...given, prefix: '' })).toThrow('detect: missing');
		const provider = endpoint({ prefix: '', detect: (model) => model === 'llama' });
		expect(provider.detect('llama')).toBe(true);
		expect(await sent(provider, { model: 'llama' })).toMatchObject({ model: 'llama' });
	});

	test('recognize models by the prefix in upper or lower case, and the prefix is not sent', async () => {
		expect(endpoint().detect('acme/big')).toBe(true);
		expect(endpoint().detect('other/big')).toBe(false);
		expect(await sent(endpoint(), { model: 'Acme/Big/Model' })).toMatchObject({ model: 'Big/Model' });
	});

	test('keep the whole name of a model that `detect` recognizes without the prefix', async () => {
		const provider = endpoint({ detect: (model) => model.startsWith('big') });
		expect(await sent(provider, { model: 'bigger-than-the-prefix' })).toMatchObject({
			model: 'bigger-than-the-prefix',
		});
	});

	test('send no Authorization header without a key, and nothing from the environment', async () => {
		vi.stubEnv('OPENAI_API_KEY', 'sk-of-the-host');
		vi.stubEnv('OPENAI_ADMIN_KEY', 'sk-admin-of-the-host');
		vi.stubEnv('OPENAI_ORG_ID', 'org-of-the-host');
		vi.stubEnv('OPENAI_PROJECT_ID', 'project-of-the-host');
		vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'x-host: of-the-host\nauthorization: Bearer of-the-host');
		await sent(endpoint({ apiKey: undefined, headers: { 'x-own': 'mine' } }));
		expect(server.requests[0]?.headers).toMatchObject({ 'x-own': 'mine' });
		expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
		expect(JSON.stringify(server.requests[0]?.headers)).not.toContain('of-the-host');
		vi.unstubAllEnvs();
	});

	test('add the fields of `body` to the request, and join lists', async () => {
		const search = { type: 'web_search' };
		const body = { temperature: 0.5, tools: [search], stream_options: { extra: true } };
		const provider = endpoint({ body });
		expect(await sent(provider, { tools: [look] })).toMatchObject({
			temperature: 0.5,
			tools: [{ function: { name: 'look' } }, search],
		});
		await streamed(provider, [chunk({ content: 'Hi.' }, 'stop'), done]);
		expect(server.requests[0]?.body).toMatchObject({ stream_options: { include_usage: true, extra: true } });
	});

	test('send the smaller limit if both `body` and `maxOutputTokens` limit the reply', async () => {
		const provider = endpoint({ body: { max_tokens: 5_000, max_completion_tokens: 50 } });
		const options = { maxOutputTokens: 100 };
		expect(await sent(provider, { options })).toMatchObject({ max_tokens: 100, max_completion_tokens: 50 });
		expect(await sent(provider)).toMatchObject({ max_tokens: 5_000 });
	});

	test.each([{ n: 2 }, { best_of: 2 }, { generationConfig: { candidateCount: 2 } }])(
		'refuse %o, which bills unread answers',
		(body) => {
			expect(() => endpoint({ body })).toThrow(/^body\.[\w.]+: must be 1: one answer is read, and all are billed/);
		},
	);

	test.each([
		['https://api.openai.com/v1', 'max_completion_tokens'],
		['https://api.groq.com/openai/v1', 'max_completion_tokens'],
		['https://eu.api.x.ai/v1', 'max_completion_tokens'],
		['https://notopenai.com/v1', 'max_tokens'],
		['http://127.0.0.1:8000/v1', 'max_tokens'],
	])('send the reply limit to %s as %s', async (baseURL, field) => {
		const bodies: unknown[] = [];
		const provider = endpoint({
			baseURL,
			fetch: async (_url, init) => {
				bodies.push(JSON.parse(String(init?.body)));
				return Response.json(completion({ content: 'Hi.' }));
			},
		});
		await provider.chatFn?.('acme/m-1', hello, undefined, undefined, { maxOutputTokens: 9 });
		expect(bodies).toEqual([expect.objectContaining({ [field]: 9 })]);
	});
});

describe('the calls of an answer', () => {
	const call = (fields: Readonly<Record<string, unknown>>) => chunk({ tool_calls: [fields] });
	const named = (name: string, args?: unknown) => ({ function: { name, arguments: args } });
	const more = (args: string) => ({ function: { arguments: args } });
	const a = { id: 'a', name: 'look', input: { city: 'Ulm' } };
	const b = { id: 'b', name: 'look', input: { city: 'Bonn' } };
	const someId = expect.stringMatching(/^call_/);

	const cases: readonly (readonly [string, readonly string[], readonly unknown[]])[] = [
		[
			'a repeated index with another id begins the next call',
			[
				call({ index: 0, id: 'a', ...named('look', '{"city":"Ulm"}') }),
				call({ index: 0, id: 'b', ...named('look', '{"city"') }),
				call({ index: 0, ...more(':"Bonn"}') }),
			],
			[a, b],
		],
		[
			'pieces that repeat the id and the name are one call',
			[
				call({ index: 0, id: 'a', ...named('look', '') }),
				call({ index: 0, id: 'a', ...named('look', '{"city":') }),
				call({ index: 0, id: 'a', ...named('look', '"Ulm"}') }),
			],
			[a],
		],
		[
			'alternating pieces belong to the call of their index',
			[
				call({ index: 0, id: 'a', ...named('look', '{"city":') }),
				call({ index: 1, id: 'b', ...named('look', '{"city":') }),
				call({ index: 0, ...more('"Ulm"}') }),
				call({ index: 1, ...more('"Bonn"}') }),
			],
			[a, b],
		],
		[
			'pieces without an index belong to the call of their id',
			[
				call({ id: 'a', ...named('look', '{"city":') }),
				call({ id: 'b', ...named('look', '{"city":"Bonn"}') }),
				call({ id: 'a', ...more('"Ulm"}') }),
			],
			[a, b],
		],
		[
			'without index and id, a name begins a call, and other pieces continue the newest call',
			[call(named('look', '{"city":')), call(more('"Ulm"}')), call(named('look', '{"city":"Bonn"}'))],
			[
				{ ...a, id: someId },
				{ ...b, id: someId },
			],
		],
		[
			'several pieces with no index, id or name continue the newest calls in order',
			[
				chunk({
					tool_calls: [
						{ id: 'a', ...named('look', '{"city":') },
						{ id: 'b', ...named('look', '{"city":') },
					],
				}),
				chunk({ tool_calls: [more('"Ulm"}'), more('"Bonn"}')] }),
			],
			[a, b],
		],
		[
			'an index is the position of a call among calls that began without an index',
			[
				chunk({
					tool_calls: [
						{ id: 'a', ...named('look', '{"city":') },
						{ id: 'b', ...named('look', '{"city":') },
					],
				}),
				chunk({
					tool_calls: [
						{ index: 1, ...more('"Bonn"}') },
						{ index: 0, ...more('"Ulm"}') },
					],
				}),
			],
			[a, b],
		],
		[
			'a call that began under the index of another call continues under its own index',
			[
				call({ index: 0, id: 'a', ...named('look', '{"city":"Ulm"}') }),
				call({ index: 0, id: 'b', ...named('look', '') }),
				call({ index: 1, ...more('{"city":"Bonn"}') }),
			],
			[a, b],
		],
		[
			'whole calls with the same index and no ids are separate calls',
			[
				call({ index: 0, id: '', ...named('look', '{"city":"Ulm"}') }),
				call({ index: 0, id: '', ...named('look', '{"city":"Bonn"}') }),
			],
			[
				{ ...a, id: someId },
				{ ...b, id: someId },
			],
		],
		[
			'several whole calls can be in one piece',
			[
				chunk({
					tool_calls: [
						{ id: 'a', ...named('look', '{"city":"Ulm"}') },
						{ id: 'b', ...named('look', '{"city":"Bonn"}') },
					],
				}),
			],
			[a, b],
		],
		[
			'later pieces with an empty id continue the same call',
			[
				call({ index: 0, id: 'a', ...named('look', '') }),
				call({ index: 0, id: '', ...more('{"city":"Ulm') }),
				call({ index: 0, id: '', ...more('"}') }),
			],
			[a],
		],
		[
			'the name of a call can come after its id',
			[call({ index: 0, id: 'a', ...more('{"city":') }), call({ index: 0, ...named('look', '"Ulm"}') })],
			[a],
		],
		['arguments can be an object', [call({ index: 0, id: 'a', ...named('look', { city: 'Ulm' }) })], [a]],
		['need no arguments', [call({ index: 0, id: 'a', ...named('look') })], [{ id: 'a', name: 'look', input: {} }]],
		[
			'a call can come in the old field function_call',
			[
				chunk({ function_call: { name: 'look', arguments: '' } }),
				chunk({ function_call: { arguments: '{"city":"Ulm"}' } }),
			],
			[{ ...a, id: someId }],
		],
	];
	test.each(cases)('%s', async (_name, pieces, expected) => {
		const { reply, deltas } = await streamed(endpoint(), [...pieces, chunk({}, 'tool_calls'), done], { tools: [look] });
		expect(reply.toolCalls).toEqual(expected);
		expect(reply.stopReason).toBe('tool_use');
		expect(deltas.filter((delta) => JSON.stringify(delta).includes('tool_use_start'))).toHaveLength(expected.length);
	});

	test('get different ids if two calls of a whole answer have the same id', async () => {
		const twice = [
			{ id: 'a', ...named('look', '{"city":"Ulm"}') },
			{ id: 'a', ...named('look', { city: 'Bonn' }) },
		];
		const { toolCalls } = await wholeReply(endpoint(), completion({ content: null, tool_calls: twice }));
		expect(toolCalls).toEqual([a, { ...b, id: 'a_2' }]);
	});
});

describe('the end of a reply', () => {
	test.each([
		['eos', 'end_turn'],
		['model_length', 'max_tokens'],
		['sensitive', 'refusal'],
		['tool_calls', 'end_turn'],
		['a_reason_of_its_own', 'a_reason_of_its_own'],
		['constructor', 'constructor'],
	])('finish reason %s without a call becomes %s', async (finish, reason) => {
		const { reply } = await streamed(endpoint(), [chunk({ content: 'Hi.' }, finish), done]);
		expect(reply.stopReason).toBe(reason);
		expect(reply.raw).toMatchObject({ finish_reason: finish, model: 'llama-9-preview', id: expect.any(String) });
	});

	test('[DONE] ends a reply without a finish reason, unless the reply is empty', async () => {
		const { reply } = await streamed(endpoint(), [chunk({ content: 'Hi.' }), done]);
		expect(reply).toMatchObject({ text: 'Hi.', stopReason: 'end_turn' });
		expect(await failure(streamed(endpoint(), [done]))).toMatchObject({ code: 'interrupted' });
	});

	test('usage after the finish reason counts, even without [DONE]', async () => {
		const { reply } = await streamed(endpoint(), [chunk({ content: 'Hi.' }, 'stop'), usageChunk(usualUsage)]);
		expect(reply.usage).toMatchObject({ inputTokens: 100, outputTokens: 40 });
	});

	test.each(['num_cached_tokens', 'prompt_cache_hit_tokens', 'cached_tokens'])('%s counts as cached', async (field) => {
		const usage = { prompt_tokens: 10, completion_tokens: 2, [field]: 7 };
		const reply = await wholeReply(endpoint(), { ...completion({ content: 'Hi.' }), usage });
		expect(reply.usage).toMatchObject({ inputTokens: 10, outputTokens: 2, cachedInputTokens: 7 });
	});

	test("Anthropic's cache counts are not added to OpenAI's prompt tokens", async () => {
		const cache = { cache_read_input_tokens: 7, cache_creation_input_tokens: 2 };
		const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, ...cache };
		const reply = await wholeReply(endpoint(), { ...completion({ content: 'Hi.' }), usage });
		expect(reply.usage).toMatchObject({ inputTokens: 10, outputTokens: 2, totalTokens: 12, cachedInputTokens: 7 });
	});

	test('usage within a choice counts only if the answer itself has no usage', async () => {
		const own = { usage: { prompt_tokens: 12, completion_tokens: 5 } };
		const last = sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...own }] });
		const { reply } = await streamed(endpoint(), [chunk({ content: 'Hi.' }), last, done]);
		expect(reply.usage).toMatchObject({ inputTokens: 12, outputTokens: 5 });
		const again = await streamed(endpoint(), [chunk({ content: 'Hi.' }), last, usageChunk(usualUsage), done]);
		expect(again.reply.usage).toMatchObject({ inputTokens: 100, outputTokens: 40 });
	});

	test('a whole message is ignored if it repeats the pieces before it', async () => {
		const call = { id: 'a', function: { name: 'look', arguments: '{}' } };
		const pieces = [chunk({ content: 'H' }), chunk({ content: 'i.', tool_calls: [{ index: 0, ...call }] })];
		const last = completion({ role: 'assistant', content: 'Hi.', tool_calls: [call] }, { finish_reason: 'tool_calls' });
		const { reply } = await streamed(endpoint(), [...pieces, sse({ ...last, usage: { prompt_tokens: 3 } }), done]);
		const calls = [{ id: 'a', name: 'look', input: {} }];
		expect(reply).toMatchObject({ text: 'Hi.', toolCalls: calls, stopReason: 'tool_use', usage: { inputTokens: 3 } });
		const { reply: alone } = await streamed(endpoint(), [sse(last), done]);
		expect(alone).toMatchObject({ text: 'Hi.', toolCalls: calls, stopReason: 'tool_use' });
	});

	test('a tool that the endpoint ran is counted once, even if several pieces of a stream name it', async () => {
		const search = { type: 'search', arguments: '{}' };
		const pieces = [
			chunk({ executed_tools: [{ index: 0, ...search }] }),
			chunk({ executed_tools: [{ index: 0, ...search, output: 'Found.' }] }),
			chunk({ executed_tools: [{ index: 1, ...search }] }),
			chunk({ content: 'Hi.' }, 'stop'),
		];
		const { reply } = await streamed(endpoint(), [...pieces, usageChunk(usualUsage), done]);
		expect(reply.usage?.units).toEqual({ executed_tools: 2 });
		const whole = completion({ content: 'Hi.', executed_tools: [search, search] });
		expect((await wholeReply(endpoint(), whole)).usage?.units).toEqual({ executed_tools: 2 });
	});

	test('further choices are ignored', async () => {
		const other = sse({ choices: [{ index: 1, delta: { content: 'No.' }, finish_reason: 'length' }] });
		const { reply } = await streamed(endpoint(), [chunk({ content: 'Hi.' }), other, chunk({}, 'stop'), other, done]);
		expect(reply).toMatchObject({ text: 'Hi.', stopReason: 'end_turn' });
	});
});

describe('a failure at the endpoint', () => {
	const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
	const failed = { error: { message: 'Upstream is overloaded', code: 503 } };

	test.each([
		['an error', { ...failed, usage }, 'overloaded'],
		['an error in words', { error: 'no such thing', usage }, 'interrupted'],
		['the error of a choice', { ...completion({}, failed), usage }, 'overloaded'],
		['finish_reason `error`', { ...completion({ content: 'Hi' }, { finish_reason: 'error' }), usage }, 'interrupted'],
		[
			'too few resources',
			{ ...completion({ content: 'Hi' }, { finish_reason: 'insufficient_system_resource' }), usage },
			'overloaded',
		],
		['a bare error', { object: 'error', message: 'Overloaded', code: 503, usage }, 'overloaded'],
	])('%s with a success status is a failure', async (_name, body, code) => {
		const error = await failure(wholeReply(endpoint(), body));
		expect(error).toMatchObject({ code, data: { usage: { inputTokens: 5, outputTokens: 1 }, provider: 'acme' } });
		const event = JSON.parse(JSON.stringify(body).replace('"message":{', '"delta":{'));
		expect(await failure(streamed(endpoint(), [sse(event), done]))).toMatchObject({ code, message: error.message });
	});

	test('the error contains the message of a body without a choice', async () => {
		const error = await failure(wholeReply(endpoint(), { detail: 'The door is closed' }));
		expect(error.message).toContain('The door is closed');
	});

	test.each([
		['flat', { object: 'error', message: 'Extra inputs are not permitted', type: 'invalid_request_error' }],
		['a list', [{ error: { message: 'Extra inputs are not permitted', code: 400, status: 'INVALID_ARGUMENT' } }]],
		['in the format of FastAPI', { detail: 'Extra inputs are not permitted' }],
	])('the error contains the message of a refusal whose body is %s', async (_name, body) => {
		server.play((exchange) => exchange.json(422, body, { 'retry-after': '3' }));
		const error = await failure(async () => endpoint().chatFn?.('acme/m-1', hello));
		expect(error).toMatchObject({ code: 'invalid_request', data: { status: 422, retryAfter: 3 } });
		expect(error.message).toContain('Extra inputs are not permitted');
	});
});

describe('a conversation', () => {
	const turn = (id: string, more: Partial<Extract<Message, { role: 'assistant' }>> = {}): Message[] => [
		chat.userMessage('Look.'),
		{ role: 'assistant', content: '', toolCalls: [{ id, name: 'look', input: { city: 'Ulm' } }], ...more },
		{ role: 'tool', content: 'sunny', toolCallId: id },
	];

	test('has the same short id in place of a long call id, in each request', async () => {
		const messages = turn('x'.repeat(41));
		const first = await sent(endpoint(), { messages });
		expect(await sent(endpoint(), { messages })).toEqual(first);
		const id = expect.stringMatching(/^call_[a-z0-9]{11}$/);
		expect(first).toMatchObject({ messages: [{}, { tool_calls: [{ id }] }, { tool_call_id: id }] });
		const ids = [...JSON.stringify(first).matchAll(/call_[a-z0-9]{11}/g)].map(([one]) => one);
		expect(new Set(ids).size).toBe(1);
		expect(JSON.stringify(await sent(endpoint(), { messages: turn('y'.repeat(41)) }))).not.toContain(ids[0]);
	});

	test('has the images of results in one user message after all results of their turn', async () => {
		const image = chat.imagePart('aGk=', 'image/png');
		const messages: Message[] = [
			chat.userMessage('Look.'),
			chat.assistantMessage('', [
				{ id: 'a', name: 'look', input: {} },
				{ id: 'b', name: 'look', input: {} },
			]),
			{ role: 'tool', content: '', toolCallId: 'a', parts: [chat.textPart('here'), image] },
			{ role: 'tool', content: 'nothing', toolCallId: 'b', isError: true },
		];
		expect(await sent(endpoint(), { messages })).toMatchObject({
			messages: [
				{ role: 'user' },
				{ role: 'assistant', content: null },
				{ role: 'tool', tool_call_id: 'a', content: 'here\n\n[image:image]' },
				{ role: 'tool', tool_call_id: 'b', content: 'Error: nothing' },
				{ role: 'user', content: [{ type: 'text' }, { image_url: { url: 'data:image/png;base64,aGk=' } }] },
			],
		});
	});

	test('has the name of an image instead of the image if its type is unsupported', async () => {
		const messages = [chat.userMessage([chat.textPart('See'), chat.imagePart('PHN2Zy8+', 'image/svg+xml')])];
		expect(await sent(endpoint(), { messages })).toMatchObject({ messages: [{ content: 'See\n\n[image:image]' }] });
	});

	test('has each part in the format of its kind, and an image with its detail', async () => {
		const image = { ...chat.imagePart('https://example.com/a.png'), meta: { detail: 'low' } };
		const note = { kind: 'file', mime: 'text/plain', data: btoa('remember'), name: 'note.txt' } as const;
		const ogg = { kind: 'audio', mime: 'audio/ogg', data: 'aGk=', name: 'a.ogg' } as const;
		const messages = [chat.userMessage([chat.textPart('See'), image, note, ogg])];
		expect(await sent(endpoint(), { messages })).toMatchObject({
			messages: [
				{
					content: [
						{ type: 'text', text: 'See' },
						{ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
						{ type: 'text', text: '[file:note.txt]\nremember' },
						{ type: 'text', text: '[audio:a.ogg]' },
					],
				},
			],
		});
		const texts = [chat.userMessage([chat.textPart('One'), chat.textPart('Two')])];
		expect(await sent(endpoint(), { messages: texts })).toMatchObject({ messages: [{ content: 'One\n\nTwo' }] });
	});

	test('has the thinking of turns with tool calls, but no thinking of other turns', async () => {
		const thought = { acme: { reasoning_content: 'hm' } };
		const messages: Message[] = [
			...turn('a', { providerMetadata: thought }),
			{ role: 'assistant', content: 'Sunny.', providerMetadata: thought },
			chat.userMessage('Thanks.'),
			{ role: 'assistant', content: 'Welcome.', providerMetadata: thought },
			chat.userMessage('Bye.'),
		];
		const body = await sent(endpoint(), { messages });
		expect(JSON.stringify(body).match(/"reasoning_content":"hm"/g)).toHaveLength(2);
		expect(body).toMatchObject({ messages: { 1: { reasoning_content: 'hm' }, 3: { reasoning_content: 'hm' } } });
	});
});

describe('Mistral', () => {
	const mistral = () => providers.mistral({ apiKey: 'key', baseURL: `${server.url}/v1` });

	test('gets back its thinking unchanged, streamed and whole', async () => {
		const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Two and two.' }], closed: true };
		const content = [thinking, { type: 'text', text: 'Four.' }];
		const { reply } = await streamed(mistral(), [
			chunk({ role: 'assistant', content: '' }),
			chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Two ' }] }] }),
			chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'and two.' }], closed: true }] }),
			chunk({ content: [{ type: 'text', text: 'Fo' }] }),
			chunk({ content: 'ur.' }, 'stop'),
			done,
		]);
		expect(server.requests[0]?.body).not.toHaveProperty('stream_options');
		const whole = await wholeReply(mistral(), completion({ content }));
		const expected = { text: 'Four.', reasoning: 'Two and two.', providerMetadata: { mistral: { content } } };
		expect(reply).toMatchObject(expected);
		expect(whole).toMatchObject(expected);
		const { text = '', providerMetadata } = reply;
		const messages: Message[] = [...hello, { role: 'assistant', content: text, providerMetadata }, ...hello];
		expect(await sent(mistral(), { messages })).toMatchObject({ messages: { 1: { role: 'assistant', content } } });
		expect(await sent(endpoint(), { messages })).toMatchObject({ messages: { 1: { content: 'Four.' } } });
	});

	test('gets short ids, `tool_choice: any`, and an assistant message between a result and a user message', async () => {
		const messages: Message[] = [
			...hello,
			chat.assistantMessage('', [
				{ id: 'call_123456789', name: 'look', input: {} },
				{ id: 'gSIMJiOkT', name: 'look', input: {} },
			]),
			{ role: 'tool', content: 'a', toolCallId: 'call_123456789' },
			{ role: 'tool', content: 'b', toolCallId: 'gSIMJiOkT' },
			...hello,
		];
		const body = await sent(mistral(), { messages, tools: [look], options: { toolChoice: 'required' } });
		const id = expect.stringMatching(/^[a-z0-9]{9}$/);
		expect(body).toMatchObject({
			tool_choice: 'any',
			messages: [
				{ role: 'user' },
				{ role: 'assistant', tool_calls: [{ id }, { id: 'gSIMJiOkT' }] },
				{ role: 'tool', tool_call_id: id },
				{ role: 'tool', tool_call_id: 'gSIMJiOkT' },
				{ role: 'assistant', content: 'OK' },
				{ role: 'user' },
			],
		});
	});

	test('gets a PDF by its URL', async () => {
		const pdf = { kind: 'file', url: 'https://example.com/a.pdf', name: 'a.pdf' } as const;
		expect(await sent(mistral(), { messages: [chat.userMessage([pdf])] })).toMatchObject({
			messages: [
				{ content: [{ type: 'document_url', document_url: 'https://example.com/a.pdf', document_name: 'a.pdf' }] },
			],
		});
	});
});

describe('DeepSeek', () => {
	const deepseek = () => providers.deepseek({ apiKey: 'key', baseURL: server.url });

	test('gets only text', async () => {
		const messages = [chat.userMessage([chat.textPart('See'), chat.imagePart('https://example.com/a.png')])];
		expect(await sent(deepseek(), { messages })).toMatchObject({
			messages: [{ content: 'See\n\n[image:image (https://example.com/a.png)]' }],
		});
	});

	test('gets the schema of a reply in the prompt', async () => {
		const body = await sent(deepseek(), { system: 'Be brief.', options: { outputSchema: citySchema } });
		expect(body).toMatchObject({ response_format: { type: 'json_object' }, messages: [{ role: 'system' }, {}] });
		expect(JSON.stringify(body)).toMatch(/Be brief\..*JSON Schema.*city/);
	});

	test('gets the thinking of each turn with calls, or an empty thinking if another provider made the turn', async () => {
		const messages: Message[] = [
			...hello,
			{ ...chat.assistantMessage('', [{ id: 'a', name: 'look', input: {} }]), reasoning: 'not for you' },
			{ role: 'tool', content: 'a', toolCallId: 'a' },
		];
		expect(await sent(deepseek(), { messages })).toMatchObject({ messages: [{}, { reasoning_content: '' }, {}] });
	});

	test('does not think if the effort is `none`', async () => {
		expect(await sent(deepseek(), { options: { reasoningEffort: 'none' } })).toMatchObject({
			thinking: { type: 'disabled' },
		});
	});
});

describe('Groq and Ollama', () => {
	test.each([
		['openai/gpt-oss-120b', 'none', 'low'],
		['openai/gpt-oss-120b', 'max', 'high'],
		['qwen/qwen3-32b', 'none', 'none'],
		['qwen/qwen3-32b', 'high', 'default'],
		['llama-3.3-70b-versatile', 'high', undefined],
	] as const)('Groq: %s gets the effort %s as %s', async (model, reasoningEffort, word) => {
		const groq = providers.groq({ apiKey: 'key', baseURL: `${server.url}/v1` });
		const body = await sent(groq, { model: `groq/${model}`, options: { reasoningEffort, maxOutputTokens: 5 } });
		const effort = word === undefined ? {} : { reasoning_effort: word };
		expect(body).toEqual({ model, messages: expect.anything(), max_completion_tokens: 5, ...effort });
	});

	test('Ollama needs no key and no address', async () => {
		const urls: string[] = [];
		const provider = providers.ollama({
			fetch: async (url) => {
				urls.push(String(url));
				return Response.json(completion({ content: 'Hi.' }));
			},
		});
		const reply = await provider.chatFn?.('ollama/llama3', hello);
		expect(reply).toMatchObject({ text: 'Hi.', usage: { provider: 'ollama', model: 'ollama/llama3' } });
		expect(urls).toEqual(['http://127.0.0.1:11434/v1/chat/completions']);
	});

	test.each(['groq', 'deepseek', 'mistral'] as const)('%s without a key can only recognize its models', (name) => {
		const provider = providers[name]({ apiKey: undefined });
		expect(provider).toMatchObject({ variant: name, needs: `${name.toUpperCase()}_API_KEY` });
		expect(provider.detect(`${name}/m-1`)).toBe(true);
		expect(provider.chatFn).toBeUndefined();
	});
});

describe('embeddings', () => {
	test('keep the order of their texts, even across several requests', async () => {
		const batch = (from: number, count: number) =>
			Array.from({ length: count }, (_, index) => ({ index, embedding: [from + index] })).reverse();
		server.play(
			(exchange) => exchange.json(200, { data: batch(0, 96) }),
			(exchange) => exchange.json(200, { data: batch(96, 4) }),
		);
		const texts = Array.from({ length: 100 }, (_, index) => `text ${index}`);
		const vectors = await endpoint().embedFn?.('acme/embed', texts);
		expect(vectors).toEqual(texts.map((_, index) => [index]));
		expect(server.requests.map(({ path }) => path)).toEqual(['/v1/embeddings', '/v1/embeddings']);
		expect(server.requests[1]?.body).toEqual({ model: 'embed', input: texts.slice(96), encoding_format: 'float' });
	});

	test('fail if a reply with status 200 contains an error', async () => {
		server.play((exchange) => exchange.json(200, { error: { message: 'no such model', code: 404 } }));
		const error = await failure(async () => endpoint().embedFn?.('acme/embed', ['a']));
		expect(error).toMatchObject({ code: 'invalid_request', data: { model: 'acme/embed' } });
	});

	test('are not available for Groq and DeepSeek', () => {
		expect(providers.groq({ apiKey: 'key' }).embedFn).toBeUndefined();
		expect(providers.deepseek({ apiKey: 'key' }).embedFn).toBeUndefined();
	});
});
