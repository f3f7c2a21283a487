import { env, SELF } from 'cloudflare:test';
import Anthropic, { APIError, AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import type { ScriptedTurn } from '../../../src/core/providers/index.ts';
import { request } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import claudeCode from '../../fixtures/clients/claude-code.json' with { type: 'json' };
import { play } from '../../script.ts';
import worker from '../../worker.ts';

const client = new Anthropic({
	apiKey: 'any',
	baseURL: 'http://localhost',
	fetch: (url, init) => SELF.fetch(url, init),
});
const model = 'scripted';
const ask = (content: Anthropic.MessageParam['content']): Anthropic.MessageParam[] => [{ role: 'user', content }];
const about = { model, max_tokens: 1_024 };
const weather: Anthropic.Tool = {
	name: 'weather',
	description: 'The weather.',
	input_schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
	cache_control: { type: 'ephemeral' },
};
const callsWeather = { text: 'Let me see.', toolCalls: [{ id: 'w1', name: 'weather', input: { at: 'Oslo' } }] };
const weatherCall = { type: 'tool_use', id: 'w1', name: 'weather', input: { at: 'Oslo' } };
const rain: Anthropic.ToolResultBlockParam = { type: 'tool_result', tool_use_id: 'w1', content: 'rain' };
const usage = { inputTokens: 10, outputTokens: 4, cachedInputTokens: 3, reasoningTokens: 2 };

const readText = ({ content }: Anthropic.Message) =>
	content.map((one) => (one.type === 'text' ? one.text : '')).join('');

async function thrown(work: PromiseLike<unknown>): Promise<APIError> {
	return Promise.resolve(work).then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => (error instanceof APIError ? error : expect.unreachable(String(error))),
	);
}

/** Creates a message whole and as a stream. The two have the same content. */
async function createBoth(params: Partial<Anthropic.MessageCreateParamsNonStreaming>, turns: readonly ScriptedTurn[]) {
	play(...turns);
	const whole = await client.messages.create({ ...about, messages: ask('Hi'), ...params });
	play(...turns);
	const streamed = await client.messages.stream({ ...about, messages: ask('Hi'), ...params }).finalMessage();
	expect(streamed.content).toMatchObject(JSON.parse(JSON.stringify(whole.content)));
	expect([streamed.stop_reason, streamed.usage.output_tokens]).toEqual([whole.stop_reason, whole.usage.output_tokens]);
	return whole;
}

describe('an answer', () => {
	test('is a message with its usage, and its request id', async () => {
		play({ text: 'Hello.', reasoning: 'Hm.', usage });
		const { data, response } = await client.messages.create({ ...about, messages: ask('Hi') }).withResponse();
		expect(data).toEqual({
			id: expect.stringMatching(/^msg_run_/),
			...{ type: 'message', role: 'assistant', model },
			content: [{ type: 'text', text: 'Hello.' }],
			...{ stop_reason: 'end_turn', stop_sequence: null },
			usage: {
				...{ input_tokens: 7, cache_read_input_tokens: 3, cache_creation_input_tokens: 0, output_tokens: 4 },
			},
		});
		const requestId = response.headers.get('request-id');
		expect(requestId).toBe(response.headers.get('x-request-id'));
		expect(requestId).toContain(response.headers.get('runlet-session'));
	});

	test('has the texts of all turns in one block, without the calls of the agent', async () => {
		const own = { text: 'Let me see.', toolCalls: [{ id: 'e', name: 'echo', input: { text: 'x' } }], usage };
		const whole = await createBoth({}, [own, { text: 'It is x.', usage }]);
		expect(whole.content).toEqual([{ type: 'text', text: 'Let me see.\n\nIt is x.' }]);
		expect(whole.usage.output_tokens).toBe(8);
	});

	test('has the thinking only if the request asks for it', async () => {
		const turns: readonly ScriptedTurn[] = [{ text: 'Hello.', reasoning: 'Hm.' }];
		const blocks = [
			{ type: 'thinking', thinking: 'Hm.', signature: expect.stringMatching(/./) },
			{ type: 'text', text: 'Hello.' },
		];
		for (const thinking of [{ type: 'enabled', budget_tokens: 1_024 }, { type: 'adaptive' }] as const)
			expect((await createBoth({ thinking }, turns)).content).toMatchObject(blocks);
		for (const thinking of [{ type: 'disabled' }, { type: 'adaptive', display: 'omitted' }, undefined] as const)
			expect((await createBoth({ thinking }, turns)).content).toMatchObject(blocks.slice(1));
	});

	test('has the cited pages as citations', async () => {
		const source = { id: 'p1', url: 'https://rain.example/', title: 'Rain', quote: 'wet' };
		const { content } = await createBoth({}, [{ text: 'It rains.', sources: [source] }]);
		const citation = { type: 'web_search_result_location', url: source.url, title: 'Rain', cited_text: 'wet' };
		expect(content).toMatchObject([{ type: 'text', text: 'It rains.', citations: [citation] }]);
	});

	test('ends before a stop sequence', async () => {
		const whole = await createBoth({ stop_sequences: ['END'] }, ['It is END of all']);
		expect(whole).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END', content: [{ text: 'It is ' }] });
	});

	test('is the text of a tool’s question, or of a halt', async () => {
		const asks = { toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which one?' } }] };
		expect(await createBoth({}, [asks])).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'Which one?' }] });
		const stops = { toolCalls: [{ id: 's', name: 'stop', input: {} }] };
		expect(await createBoth({}, [stops])).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'stopped' }] });
	});

	test('is JSON by the schema of output_config', async () => {
		const schema = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] };
		play('{"sum":"no"}', '{"sum":42}');
		const message = await client.messages.create({
			...{ ...about, messages: ask('17 + 25?'), output_config: { format: { type: 'json_schema', schema } } },
		});
		expect(readText(message)).toBe('{"sum":42}');
	});
});

describe('a request to the model', () => {
	test("has the client's messages and its system text, beside the agent's own prompt", async () => {
		const { requests } = play('Fine.');
		await client.messages.create({
			...about,
			model: 'prompted',
			system: [{ type: 'text', text: 'Speak French.', cache_control: { type: 'ephemeral' } }],
			messages: [
				...ask('One'),
				{
					role: 'assistant',
					content: [
						{ type: 'thinking', thinking: 'Hm', signature: 'x' },
						{ type: 'redacted_thinking', data: 'x' },
						{ type: 'text', text: 'Un' },
					],
				},
				{ role: 'system', content: 'Be brief.' },
				...ask('Two'),
				...ask('and three'),
			],
		});
		expect(requests[0]?.system).toBe('You are the agent.');
		expect(requests[0]?.messages.map(({ role, content }) => [role, content])).toEqual([
			['system', 'Speak French.'],
			['user', 'One'],
			['assistant', 'Un'],
			['system', 'Be brief.'],
			['user', 'Two\n\nand three'],
		]);
	});

	test('has images and documents as parts', async () => {
		const { requests } = play('Seen.');
		await client.messages.create({
			...about,
			messages: ask([
				{ type: 'text', text: 'Look' },
				{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
				{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVs' } },
				{
					...{ type: 'document', title: 'a.pdf', context: 'A bill' },
					source: { type: 'base64', media_type: 'application/pdf', data: 'aGVs' },
				},
				{ type: 'document', source: { type: 'url', url: 'https://example.com/b.pdf' } },
				{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Plain' } },
				{ type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Plain' }] } },
				{
					...{ type: 'search_result', source: 'https://a.example', title: 'A' },
					content: [{ type: 'text', text: 'Found' }],
				},
			]),
		});
		const [message] = requests[0]?.messages ?? [];
		expect(message && 'parts' in message ? message.parts : undefined).toEqual([
			{ kind: 'text', text: 'Look' },
			{ kind: 'image', url: 'https://example.com/a.png' },
			{ kind: 'image', mime: 'image/png', data: 'aGVs' },
			{ kind: 'text', text: 'A bill' },
			{ kind: 'file', mime: 'application/pdf', data: 'aGVs', name: 'a.pdf' },
			{ kind: 'file', mime: 'application/pdf', url: 'https://example.com/b.pdf' },
			{ kind: 'file', mime: 'text/plain', data: btoa('Plain') },
			{ kind: 'file', mime: 'text/plain', data: btoa('Plain') },
			{ kind: 'file', mime: 'text/plain', data: btoa('https://a.example\n\nFound'), name: 'A' },
		]);
	});

	test("has the client's max_tokens as its limit, or the agent's own limit if it is lower", async () => {
		const { requests } = play('a', 'b');
		await client.messages.create({ ...about, max_tokens: 7, messages: ask('Hi') });
		await client.messages.create({ ...about, model: 'thrifty', max_tokens: 900, messages: ask('Hi') });
		expect(requests.map(({ options }) => options?.maxOutputTokens)).toEqual([7, 100]);
	});

	test('is the same if the client sends fields that Runlet ignores', async () => {
		const { requests } = play('Fine.');
		await client.beta.messages.create({
			...{ ...about, messages: ask('Hi'), temperature: 0.5, top_p: 1, top_k: 5, metadata: { user_id: 'u' } },
			...{ service_tier: 'auto', tools: [], thinking: { type: 'disabled' }, cache_control: { type: 'ephemeral' } },
			...{ stop_sequences: [], output_config: { effort: 'low' }, betas: ['context-1m-2025-08-07'] },
			...{ context_management: { edits: [] }, mcp_servers: [] },
		});
		expect(requests[0]?.messages).toHaveLength(1);
	});
});

describe("the client's tools", () => {
	test.each([false, true])('are called by the client, streamed: %s', async (stream) => {
		const { requests } = play(callsWeather, 'It rains.');
		const params = { ...about, messages: ask('Weather?'), tools: [weather] };
		const first = stream ? await client.messages.stream(params).finalMessage() : await client.messages.create(params);
		expect(first).toMatchObject({ stop_reason: 'tool_use', content: [{ text: 'Let me see.' }, weatherCall] });
		const messages: Anthropic.MessageParam[] = [
			...ask('Weather?'),
			{ role: 'assistant', content: first.content },
			...ask([rain, { type: 'text', text: 'And?' }]),
		];
		const second = await client.messages.create({ ...about, messages, tools: [weather] });
		expect(readText(second)).toBe('It rains.');
		expect(requests[1]?.messages).toMatchObject([
			{ role: 'user', content: 'Weather?' },
			{ role: 'assistant', content: 'Let me see.', toolCalls: [{ id: 'w1', name: 'weather', input: { at: 'Oslo' } }] },
			{ role: 'tool', toolCallId: 'w1', content: 'rain' },
			{ role: 'user', content: 'And?' },
		]);
	});

	test('give results with blocks, and failures', async () => {
		const { requests } = play('Fine.');
		const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVs' } } as const;
		const two = [weatherCall, { ...weatherCall, id: 'w2' }] as Anthropic.ToolUseBlockParam[];
		await client.messages.create({
			...about,
			tools: [weather],
			messages: [
				...ask('Weather?'),
				{ role: 'assistant', content: two },
				...ask([
					{ ...rain, content: [{ type: 'text', text: 'See' }, image] },
					{ ...rain, tool_use_id: 'w2', content: 'no network', is_error: true },
				]),
			],
		});
		expect(requests[0]?.messages.slice(2)).toMatchObject([
			{ role: 'tool', toolCallId: 'w1', isError: false, parts: [{ text: 'See' }, { kind: 'image', data: 'aGVs' }] },
			{ role: 'tool', toolCallId: 'w2', isError: true, content: 'no network' },
		]);
	});

	test('run in the tool loop of the client library', async () => {
		play(callsWeather, 'It rains.');
		const tool = {
			...weather,
			run: ({ at }: { at: string }) => `rain in ${at}`,
			parse: (given: unknown) => given as { at: string },
		};
		const runner = client.beta.messages.toolRunner({ ...about, messages: ask('Weather?'), tools: [tool] });
		expect((await runner.runUntilDone()).content).toMatchObject([{ text: 'It rains.' }]);
	});

	test('can be forced by tool_choice, and one at a time', async () => {
		const { requests } = play(callsWeather, callsWeather, 'It rains.');
		const params = { ...about, messages: ask('Weather?'), tools: [weather] };
		const disable_parallel_tool_use = true;
		await client.messages.create({ ...params, tool_choice: { type: 'tool', name: 'weather' } });
		await client.messages.create({ ...params, tool_choice: { type: 'any', disable_parallel_tool_use } });
		await client.messages.create({ ...params, tool_choice: { type: 'none' } });
		expect(requests.map(({ options }) => options?.toolChoice)).toEqual([
			{ name: 'weather' },
			{ name: 'weather' },
			undefined,
		]);
		expect(requests[1]?.options?.parallelToolCalls).toBe(false);
		const names = requests[2]?.tools?.map(({ name }) => name);
		expect(names).toContain('echo');
		expect(names).not.toContain('weather');
	});

	test('may hint at a web search that the agent has', async () => {
		play('It rains.');
		const search = { type: 'web_search_20250305', name: 'web_search' } as const;
		const message = await client.messages.create({
			...about,
			model: 'searcher:scripted',
			messages: ask('?'),
			tools: [search],
		});
		expect(readText(message)).toBe('It rains.');
	});
});

describe('a run that waits for somebody other than the client', () => {
	test.each([
		['an approval', { id: 'p', name: 'pay', input: { amount: 3 } }, false],
		['an approval, streamed', { id: 'p', name: 'pay', input: { amount: 3 } }, true],
		['the result of a manual tool', { id: 'b', name: 'by_hand', input: {} }, false],
	])('is an error that no client repeats if it waits for %s', async (_, call, stream) => {
		const { requests } = play({ toolCalls: [call] }, 'Paid.');
		const params = { ...about, messages: ask('Go') };
		const error = await thrown(stream ? client.messages.stream(params).finalMessage() : client.messages.create(params));
		const code = 'awaiting_tools';
		expect(error.error).toMatchObject({ type: 'error', error: { code, type: 'invalid_request_error' } });
		expect(error.message).toContain(call.name);
		expect(requests).toHaveLength(1);
		const id = error.headers?.get('runlet-session') ?? '';
		const answer = call.name === 'pay' ? { id: 'p', approve: true } : { id: 'b', output: 'done' };
		const done = await request(`/v1/sessions/${id}/tool-results`, [answer]);
		expect(await done.json()).toMatchObject({ status: 'completed', text: 'Paid.' });
	});
});

describe('a session that the header runlet-session names', () => {
	test('keeps the history, takes only new messages, and reads the next message as an answer', async () => {
		const asks = { toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which one?' } }] };
		const { requests } = play('One.', asks, 'Three.');
		const headers = { 'Runlet-Session': 'messages' };
		const tell = (messages: Anthropic.MessageParam[]) =>
			client.messages.create({ ...about, system: 'Be brief.', messages }, { headers });
		await tell(ask('1'));
		expect(readText(await tell(ask('2')))).toBe('Which one?');
		await tell([...ask('not what was said'), { role: 'assistant', content: 'nor this' }, ...ask('The red one')]);
		expect(requests[2]?.messages.map(({ content }) => content)).toEqual([
			...['Be brief.', '1', 'One.', '2', '', 'The red one'],
		]);
	});

	test("takes the results of the client's tools alone", async () => {
		play(callsWeather, 'It rains.');
		const headers = { 'Runlet-Session': 'messages with tools' };
		const params = { ...about, tools: [weather] };
		await client.messages.create({ ...params, messages: ask('Weather?') }, { headers });
		expect(readText(await client.messages.create({ ...params, messages: ask([rain]) }, { headers }))).toBe('It rains.');
	});
});

describe('a refused request', () => {
	const call = (name: string) => ({ role: 'assistant', content: [{ type: 'tool_use', id: 'c', name, input: {} }] });
	test.each([
		['messages', { messages: [] }],
		['messages.0.role', { messages: [{ role: 'assistant', content: 'So' }] }],
		['messages.0.content', { messages: [{ role: 'user', content: ' ' }] }],
		['messages.0.content.0.tool_use_id', { messages: [{ role: 'user', content: [rain] }] }],
		[
			'messages.1.content.0.id',
			{
				messages: [
					...ask('1'),
					{ role: 'assistant', content: [weatherCall, { ...weatherCall, id: 'w2' }] },
					...ask([{ ...rain, tool_use_id: 'w2' }]),
				],
			},
		],
		['messages.0.content.0.name', { messages: [call('echo'), ...ask('2')] }],
		['messages.0.content.0.type', { messages: ask([{ type: 'container_upload', file_id: 'f' }]) }],
		[
			'messages.0.content.0.source.url',
			{ messages: ask([{ type: 'image', source: { type: 'url', url: 'http://127.0.0.1/a.png' } }]) },
		],
		['tools.0.type', { tools: [{ type: 'bash_20250124', name: 'bash' }] }],
		['tools.0.type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
		['tools.0.name', { tools: [{ ...weather, name: 'echo' }] }],
		['tools.1.name', { tools: [weather, weather] }],
		['tools.0.input_schema', { tools: [{ ...weather, input_schema: { type: 'array' } }] }],
		['tool_choice.name', { tools: [weather], tool_choice: { type: 'tool', name: 'other' } }],
		['tool_choice.type', { tool_choice: { type: 'any' } }],
		['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] }],
		['container', { container: 'c' }],
		[
			'stop_sequences',
			{ stop_sequences: ['a'], output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
		],
		['metadata.user_id', { metadata: { user_id: '..' } }],
	])('names the field %s', async (field, wrong) => {
		const { requests } = play('never');
		const error = await thrown(client.messages.create({ ...about, messages: ask('Hi'), ...(wrong as object) }));
		expect(error).toBeInstanceOf(BadRequestError);
		const body = error.error as { error: { type: string; message: string }; request_id: string };
		expect(body.error.type).toBe('invalid_request_error');
		expect(body.error.message.startsWith(`${field}: `), body.error.message).toBe(true);
		expect(body.request_id).toBe(error.requestID);
		expect(requests).toHaveLength(0);
	});

	test("is one of the package's own classes", async () => {
		expect(await thrown(client.messages.create({ ...about, model: 'claude', messages: ask('Hi') }))).toBeInstanceOf(
			NotFoundError,
		);
		const { keys, bindings } = await createKeys({ ada: ['run'] });
		const createClient = (key: string) =>
			new Anthropic({
				...{ apiKey: key, baseURL: 'https://runlet.example.com', maxRetries: 0 },
				fetch: async (url, init) => worker.request(String(url), init as RequestInit, bindings),
			});
		const stranger = await thrown(
			createClient(`${keys.ada.slice(0, -2)}aa`).messages.create({ ...about, messages: ask('Hi') }),
		);
		expect(stranger).toBeInstanceOf(AuthenticationError);
		expect(stranger.error).toMatchObject({ error: { type: 'authentication_error' } });
		expect(stranger.requestID).toMatch(/^req_/);
		play('Hello.');
		expect(readText(await createClient(keys.ada).messages.create({ ...about, messages: ask('Hi') }))).toBe('Hello.');
	});
});

describe('a repeated request', () => {
	const post = (headers: Record<string, string>, stream = false) =>
		request('/v1/messages', { ...about, messages: ask('Once'), stream }, headers);

	test.each([false, true])('with the same Idempotency-Key gets the same run, streamed: %s', async (stream) => {
		const { requests } = play('First.', 'Second.');
		const headers = { 'idempotency-key': `messages-${stream}` };
		const first = await post(headers, stream);
		const [one, two] = [await first.text(), await post(headers, stream)];
		expect(await two.text()).toBe(one);
		expect(two.headers.get('idempotent-replayed')).toBe('true');
		expect(two.headers.get('runlet-session')).toBe(first.headers.get('runlet-session'));
		expect(requests).toHaveLength(1);
	});

	test('that the package counts in x-stainless-retry-count joins the run of its first try', async () => {
		const { requests } = play('First.', 'Second.');
		const first = await post({ 'x-stainless-retry-count': '0' });
		const second = await post({ 'x-stainless-retry-count': '1' });
		expect(await second.json()).toEqual(await first.json());
		expect(requests).toHaveLength(1);
	});

	test('that Claude Code sends after a failed stream, without a stream, joins the run of its first try', async () => {
		const { requests } = play({ toolCalls: [{ id: 'e', name: 'echo', input: { text: 'x' } }] }, new Error('broken'));
		const send = (stream: boolean) =>
			request('/v1/messages?beta=true', { ...claudeCode, model, stream }, { 'x-claude-code-session-id': 'session-1' });
		expect(await (await send(true)).text()).toContain('broken');
		const again = await send(false);
		expect(again.status).toBe(406);
		expect(await again.text()).toContain('broken');
		expect(requests).toHaveLength(2);
	});

	test('after a failed run is not sent by the package itself', async () => {
		const { requests } = play(new Error('broken'), 'Second.');
		const error = await thrown(client.messages.create({ ...about, messages: ask('Hi') }));
		expect(error).toMatchObject({ status: 406, error: { error: { type: 'api_error' } } });
		expect(error.headers?.get('x-should-retry')).toBe('false');
		expect(requests).toHaveLength(1);
	});
});

describe('a session whose events break off', () => {
	/** Sends a message to a session whose stream ends with an error after the first event. */
	const breakOff = (more: object, headers: Record<string, string> = {}) => {
		const id = env.SESSIONS.newUniqueId();
		const line = `${JSON.stringify({ event: { type: 'run.started', runId: 'run_1', attempt: 1 } })}\n`;
		let isSent = false;
		const stream = () =>
			new ReadableStream({
				pull: (controller) => {
					if (isSent) controller.error(new Error('The object died.'));
					else controller.enqueue(new TextEncoder().encode(line));
					isSent = true;
				},
			});
		const converse = async () => ({ ok: true, value: { kind: 'stream', stream: stream() } });
		const objects = { ...env.SESSIONS, newUniqueId: () => id, idFromName: () => id, get: () => ({ converse }) };
		const init = {
			method: 'POST',
			headers: { 'content-type': 'application/json', ...headers },
			body: JSON.stringify({ ...about, messages: ask('Go'), ...more }),
		};
		return worker.request('http://localhost/v1/messages', init, { ...env, SESSIONS: objects });
	};

	test('ends a stream with an error that no client repeats', async () => {
		const body = await (await breakOff({ stream: true })).text();
		expect(body).toMatch(/^event: message_start\n/);
		expect(body).toMatch(/event: error\ndata: .*"type":"api_error".*"code":"interrupted".*\n\n$/);
	});

	test('gives a status that no client repeats, because a second request would begin a second run', async () => {
		const response = await breakOff({});
		expect([response.status, response.headers.get('x-should-retry')]).toEqual([406, 'false']);
		expect(await response.json()).toMatchObject({ error: { code: 'interrupted' } });
	});

	test('gives a status that clients repeat, if the second request joins the first run', async () => {
		const response = await breakOff({}, { 'idempotency-key': 'breaks-off' });
		expect([response.status, response.headers.get('x-should-retry')]).toEqual([529, 'true']);
		expect(await response.json()).toMatchObject({ error: { type: 'overloaded_error' } });
	});
});

describe('count_tokens', () => {
	test('estimates the tokens without a run, and counts what the agent adds', async () => {
		const { requests } = play('never');
		const count = async (params: Partial<Anthropic.MessageCountTokensParams>) =>
			(await client.messages.countTokens({ model, messages: ask('Hi'), ...params })).input_tokens;
		const few = await count({});
		expect(await count({ messages: ask('Hi '.repeat(1_000)) })).toBeGreaterThan(few + 500);
		expect(await count({ system: 'Be brief. '.repeat(1_000) })).toBeGreaterThan(few + 1_000);
		expect(await count({ tools: [weather] })).toBeGreaterThan(few);
		expect(few).toBeGreaterThan(await count({ model: 'plain' }));
		expect(requests).toHaveLength(0);
		expect(await thrown(client.messages.countTokens({ model: 'none', messages: ask('Hi') }))).toBeInstanceOf(
			NotFoundError,
		);
	});
});
