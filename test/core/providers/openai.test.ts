import { afterEach, describe, expect, test, vi } from 'vitest';
import {
	type ChatReply,
	chat,
	type Message,
	providers,
	RunletError,
	type Tool,
	type ToolCall,
} from '../../../src/core/index.ts';
import { isStrict } from '../../../src/core/providers/adapter/body.ts';

type Settings = Partial<Parameters<typeof providers.openai>[0]>;

interface Request {
	readonly url: string;
	readonly headers: Headers;
	readonly body: Readonly<Record<string, unknown>>;
}

/** A provider that answers with these bodies, and its requests. */
function at(answers: readonly unknown[], settings: Settings = {}, make = providers.openai) {
	const requests: Request[] = [];
	const fetch = async (url: unknown, init: RequestInit = {}): Promise<Response> => {
		requests.push({ url: `${url}`, headers: new Headers(init.headers), body: JSON.parse(`${init.body}`) });
		const answer = answers[requests.length - 1] ?? answers[0];
		if (!Array.isArray(answer)) return Response.json(answer);
		const events = answer.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
		return new Response(events, { headers: { 'content-type': 'text/event-stream' } });
	};
	return { provider: make({ apiKey: 'sk-test', fetch, ...settings }), requests };
}

async function sent(
	messages: readonly Message[],
	{ model = 'gpt-5.4', make = providers.openai, settings = {} as Settings, options = {}, tools = [] as never[] } = {},
) {
	const { provider, requests } = at([{ status: 'completed', output: [] }], settings, make);
	await provider.chatFn?.(model, messages, 'Be brief.', tools, options);
	return requests[0]?.body ?? {};
}

async function replyTo(answer: unknown, make = providers.openai): Promise<ChatReply> {
	const { provider } = at([answer], {}, make);
	const model = make === providers.xai ? 'grok-4.5' : 'gpt-5.4';
	const reply = Array.isArray(answer)
		? await provider.chatStreamFn?.(model, hello, undefined, [], () => undefined)
		: await provider.chatFn?.(model, hello);
	if (reply === undefined) throw new Error('no reply');
	return reply;
}

const hello: readonly Message[] = [chat.userMessage('Hello')];
const done = (output: readonly unknown[], more = {}) => ({ id: 'resp_1', status: 'completed', output, ...more });
const completed = (output: readonly unknown[] = []) => ({ type: 'response.completed', response: done(output) });
const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'secret' };
const text = (words: string, more = {}) => ({
	type: 'message',
	id: 'msg_1',
	role: 'assistant',
	status: 'completed',
	content: [{ type: 'output_text', text: words, annotations: [] }],
	...more,
});
const call = (id: string, args = '{"city":"Ulm"}', more = {}) => ({
	type: 'function_call',
	id: `fc_${id}`,
	status: 'completed',
	call_id: id,
	name: 'look',
	arguments: args,
	...more,
});

/** Returns the body that sends `output` back. */
async function sentBack(output: readonly unknown[], change: Partial<Message> = {}, make = providers.openai) {
	const { text: content = '', toolCalls, providerMetadata } = await replyTo(done(output), make);
	const turn = { role: 'assistant', content, toolCalls, providerMetadata, ...change } as Message;
	const calls = turn.role === 'assistant' ? (turn.toolCalls ?? []) : [];
	const results = calls.map(({ id }) => chat.toolResultMessage({ id, output: 'fine', isError: false }));
	const { input } = await sent([...hello, turn, ...results], { make });
	return (Array.isArray(input) ? input : []).slice(1);
}

describe('openai: the metadata of a turn', () => {
	test('is missing if the turn has only text and calls', async () => {
		const { providerMetadata } = await replyTo(done([text('Hi.'), call('call_1')]));
		expect(providerMetadata).toBeUndefined();
	});

	test('contains all items, without call arguments, if the turn has more than text and calls', async () => {
		const { providerMetadata, toolCalls } = await replyTo(done([thought, text('Hi.'), call('call_1')]));
		const { arguments: _, ...kept } = call('call_1');
		expect(providerMetadata).toEqual({ openai: { output: [thought, text('Hi.'), kept] } });
		expect(toolCalls).toEqual([{ id: 'call_1', name: 'look', input: { city: 'Ulm' } }]);
	});

	test.each([
		['a phase', text('Hi.', { phase: 'commentary' })],
		['annotations', text('Hi.', { content: [{ type: 'output_text', text: 'Hi.', annotations: [{ url: 'x' }] }] })],
		['a namespace', call('call_1', '{}', { namespace: 'crm' })],
		['a server tool', { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } }],
		['a compaction', { type: 'compaction', id: 'cmp_1', encrypted_content: 'secret' }],
		['an unknown kind', { type: 'hologram', id: 'h_1', frames: [1] }],
	])('is sent back unchanged: %s', async (_, item) => {
		expect(await sentBack([item])).toEqual([item, ...(item.type === 'function_call' ? [expect.anything()] : [])]);
	});

	test('is sent back without unencrypted reasoning, and the text after that reasoning loses its id', async () => {
		const { encrypted_content: _, ...bare } = thought;
		const { id: __, ...message } = text('Hi.', { phase: 'commentary' });
		const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
		expect(await sentBack([bare, search, text('Hi.', { phase: 'commentary' })])).toEqual([message]);
	});

	test('is sent back without the reasoning of a call that the history dropped', async () => {
		const kept = call('call_2', '{}', { namespace: 'crm' });
		const { id: _, ...bare } = kept;
		const toolCalls: ToolCall[] = [{ id: 'call_2', name: 'look', input: {} }];
		const [first, result] = await sentBack([thought, call('call_1'), kept], { toolCalls });
		expect(first).toEqual(bare);
		expect(result).toEqual({ type: 'function_call_output', call_id: 'call_2', output: 'fine' });
	});

	test('is sent without reasoning to a model that does not reason', async () => {
		const { text: content = '', providerMetadata } = await replyTo(done([thought, text('Hi.')]));
		const turn: Message = { role: 'assistant', content, providerMetadata };
		const { id: _, ...message } = text('Hi.');
		expect((await sent([turn], { model: 'gpt-4.1' })).input).toEqual([message]);
		expect((await sent([turn], { model: 'gpt-5.6' })).input).toEqual([thought, text('Hi.')]);
	});

	test('leaves out reasoning that is not followed by a text or a call', async () => {
		const { providerMetadata, stopReason } = await replyTo(
			done([thought], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
		);
		expect({ providerMetadata, stopReason }).toEqual({ providerMetadata: undefined, stopReason: 'max_tokens' });
	});

	test('leaves out a built-in call without an output', async () => {
		const shell = { type: 'shell_call', id: 'sh_1', call_id: 'call_9', status: 'completed', action: {} };
		const output = { type: 'shell_call_output', id: 'sho_1', call_id: 'call_9', output: [] };
		expect(await sentBack([shell, text('Hi.')])).toEqual([{ role: 'assistant', content: 'Hi.' }]);
		expect(await sentBack([shell, output, text('Hi.')])).toEqual([shell, output, text('Hi.')]);
	});

	test('is ignored if the text was changed', async () => {
		expect(await sentBack([thought, text('My key is 123.')], { content: 'My key is […].' })).toEqual([
			{ role: 'assistant', content: 'My key is […].' },
		]);
	});

	test('adds the caller to the result of a call that a program made', async () => {
		const caller = { type: 'program', caller_id: 'call_p' };
		const [, , result] = await sentBack([
			{ type: 'program', id: 'cm_1', call_id: 'call_p', code: '' },
			call('a', '{}', { caller }),
		]);
		expect(result).toEqual({ type: 'function_call_output', call_id: 'a', caller, output: 'fine' });
	});
});

describe('openai: calls', () => {
	test('get an alias for a long id and a suffix for a repeated id, and so do their results', async () => {
		const long = 'x'.repeat(80);
		const turn = (id: string): Message[] => [
			chat.assistantMessage('', [{ id, name: 'look', input: {} }]),
			chat.toolResultMessage({ id, output: 'fine', isError: false }),
		];
		const { input } = await sent([...hello, ...turn(long), ...turn('call_1'), ...turn('call_1')]);
		const ids = (Array.isArray(input) ? input : []).slice(1).map(({ call_id }) => call_id);
		expect(ids[0].length).toBeLessThanOrEqual(64);
		expect(ids).toEqual([ids[0], ids[0], 'call_1', 'call_1', 'call_1_2', 'call_1_2']);
	});

	test('of a custom tool have a text as input, and their results are sent as custom tool results', async () => {
		const custom = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'sql', input: '{"a":1}' };
		const pieces = ['{"a"', ':1}'].map((delta) => ({
			type: 'response.custom_tool_call_input.delta',
			output_index: 0,
			delta,
		}));
		const added = { type: 'response.output_item.added', output_index: 0, item: { ...custom, input: '' } };
		const over = { type: 'response.output_item.done', output_index: 0, item: custom };
		for (const answer of [done([custom]), [added, ...pieces, over, completed()]]) {
			expect((await replyTo(answer)).toolCalls).toEqual([{ id: 'call_1', name: 'sql', input: '{"a":1}' }]);
		}
		expect(await sentBack([custom])).toEqual([
			custom,
			{ type: 'custom_tool_call_output', call_id: 'call_1', output: 'fine' },
		]);
	});

	test('do not include a tool call that xAI ran itself, and the item of that call is sent back unchanged', async () => {
		const search = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'x_keyword_search', input: '{}' };
		expect((await replyTo(done([search, text('Hi.')]), providers.xai)).toolCalls).toEqual([]);
		expect(await sentBack([search, text('Hi.')], {}, providers.xai)).toEqual([search, text('Hi.')]);
	});
});

describe('openai: a stream', () => {
	test('is read even if it has whole items instead of pieces', async () => {
		const items = [{ ...thought, summary: [{ text: 'Hm.' }, { text: 'So.' }] }, text('Hi.'), call('call_1')];
		const finished = items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item }));
		const whole = await replyTo(done(items));
		for (const answer of [[...finished, completed()], [completed(items)], [...finished, completed(items)]]) {
			const { usage: _, raw: __, ...reply } = await replyTo(answer);
			expect(whole).toMatchObject(reply);
		}
		expect(whole).toMatchObject({ text: 'Hi.', reasoning: 'Hm.\n\nSo.', stopReason: 'tool_use' });
	});

	test('gets the missing end of a text from a later event, unless the pieces differ from that event', async () => {
		const streamed = async (delta: string, whole: string) =>
			(
				await replyTo([
					{ type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta },
					{ type: 'response.output_text.done', output_index: 0, item_id: 'msg_1', content_index: 0, text: whole },
					{ type: 'response.output_item.done', output_index: 0, item: text(whole) },
					completed([text(whole)]),
				])
			).text;
		expect(await streamed('He', 'Hello')).toBe('Hello');
		expect(await streamed('Bye', 'Hello')).toBe('Bye');
	});

	test('can have the arguments of a call in one event', async () => {
		const whole = '{"city":"Ulm"}';
		const args = { type: 'response.function_call_arguments.done', output_index: 0, item_id: 'fc_a', arguments: whole };
		const custom = { type: 'custom_tool_call', id: 'ctc_b', call_id: 'b', name: 'look' };
		const input = { type: 'response.custom_tool_call_input.done', output_index: 1, item_id: 'ctc_b', input: 'Ulm' };
		const begun = [call('a', ''), { ...custom, input: '' }];
		const added = begun.map((item, output_index) => ({ type: 'response.output_item.added', output_index, item }));
		const finished = [call('a', whole), { ...custom, input: 'Ulm' }];
		const calls = [
			{ id: 'a', name: 'look', input: { city: 'Ulm' } },
			{ id: 'b', name: 'look', input: 'Ulm' },
		];
		expect(await replyTo([...added, args, input, completed(finished)])).toMatchObject({ toolCalls: calls });
		expect(await replyTo([added[0], args, completed()])).toMatchObject({
			toolCalls: [calls[0]],
			stopReason: 'tool_use',
		});
	});

	test('is read by item ids if it has no output indexes', async () => {
		const ids = ['a', 'b'];
		const { toolCalls } = await replyTo([
			...ids.map((id) => ({ type: 'response.output_item.added', item: call(id, '') })),
			...ids.map((id) => ({
				type: 'response.function_call_arguments.delta',
				item_id: `fc_${id}`,
				delta: `{"id":"${id}"}`,
			})),
			completed(ids.map((id) => call(id, `{"id":"${id}"}`))),
		]);
		expect(toolCalls?.map(({ id, input }) => [id, input])).toEqual(ids.map((id) => [id, { id }]));
	});
});

const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } };
const broken = {
	...{ status: 'failed', error: { code: 'server_error', message: 'Overloaded' } },
	usage: { input_tokens: 5, output_tokens: 1 },
};

test('a failed stream bills its completed searches', async () => {
	const opened = { id: 'resp_1', status: 'in_progress', output: [], tools: [{ type: 'web_search' }] };
	const events = [
		{ type: 'response.created', response: opened },
		{ type: 'response.output_item.done', output_index: 0, item: search },
		{ type: 'response.failed', response: broken },
	];
	await expect(replyTo(events)).rejects.toMatchObject({
		data: { usage: { inputTokens: 5, units: { web_searches: 1 } } },
	});
});

test('a failed response without streaming bills the searches of its output', async () => {
	await expect(replyTo(done([search], broken))).rejects.toMatchObject({
		data: { usage: { units: { web_searches: 1 } } },
	});
});

test("the API's own number of searches replaces Runlet's count", async () => {
	const response = done([search], { tool_usage: { web_search: { num_requests: 0 } } });
	const events = [
		{ type: 'response.output_item.done', output_index: 0, item: search },
		{ type: 'response.completed', response },
	];
	expect((await replyTo(events)).usage?.units).toBeUndefined();
});

test('a failed response becomes an error with its usage', async () => {
	const failed = done([], {
		status: 'failed',
		error: { code: 'server_error', message: 'Oh.' },
		usage: { input_tokens: 5 },
	});
	await expect(replyTo(failed)).rejects.toMatchObject({ code: 'overloaded', data: { usage: { inputTokens: 5 } } });
});

describe('openai: a request', () => {
	test.each([
		['gpt-4.1', 'high', undefined, false],
		['gpt-5-chat-latest', 'high', undefined, false],
		['o3', 'none', 'low', true],
		['gpt-5-mini', 'none', 'minimal', true],
		['gpt-5.1', 'max', 'high', true],
		['gpt-5.4', 'minimal', 'low', true],
		['gpt-5.6-sol', 'max', 'max', true],
	] as const)('to %s with the effort %s has the effort %s', async (model, reasoningEffort, effort, encrypted) => {
		const body = await sent(hello, { model, options: { reasoningEffort } });
		expect(body.reasoning).toEqual(effort && { effort });
		expect(body.include).toEqual(encrypted ? ['reasoning.encrypted_content'] : undefined);
	});

	test.each([
		['grok-4-fast-reasoning', 'high', undefined],
		['grok-4.1-fast', 'high', undefined],
		['grok-3-mini', 'medium', 'high'],
		['grok-4.3', 'none', 'none'],
		['grok-4.5', 'none', 'low'],
		['grok-4.5', 'xhigh', 'high'],
	] as const)('to %s with the effort %s has the effort %s', async (model, reasoningEffort, effort) => {
		const body = await sent(hello, { model, make: providers.xai, options: { reasoningEffort } });
		expect(body.reasoning).toEqual(effort && { effort });
	});

	test('joins its lists with the lists of the settings, and has a reasoning summary only if requested', async () => {
		const body = { tools: [{ type: 'web_search' }], include: ['web_search_call.action.sources'] };
		const settings: Settings = { body, reasoningSummary: 'auto' };
		expect(await sent([chat.userMessage('Hi'), { role: 'system', content: 'Now' }], { settings })).toEqual({
			model: 'gpt-5.4',
			instructions: 'Be brief.',
			input: [
				{ role: 'user', content: 'Hi' },
				{ role: 'developer', content: 'Now' },
			],
			store: false,
			include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
			reasoning: { summary: 'auto' },
			tools: [{ type: 'web_search' }],
		});
	});

	test('has a text file as text, and a PDF by its URL', async () => {
		const parts = [
			{ kind: 'file', name: 'a.csv', mime: 'text/csv', data: btoa('a,b') },
			{ kind: 'file', url: 'https://example.com/a.pdf' },
		] as const;
		expect((await sent([chat.userMessage(parts)])).input).toEqual([
			{
				role: 'user',
				content: [
					{ type: 'input_text', text: '[file:a.csv]\n\na,b' },
					{ type: 'input_file', file_url: 'https://example.com/a.pdf' },
				],
			},
		]);
		expect((await sent([{ role: 'user', content: 'Hi', parts: [] }])).input).toEqual([{ role: 'user', content: 'Hi' }]);
	});

	test('has the name of an image instead of the image if its type is unsupported', async () => {
		const parts = [chat.imagePart('PHN2Zy8+', 'image/svg+xml'), chat.imagePart('aGk=', 'image/png')];
		const content = [
			{ type: 'input_text', text: '[image:image]' },
			{ type: 'input_image', image_url: 'data:image/png;base64,aGk=' },
		];
		expect((await sent([chat.userMessage(parts)])).input).toEqual([{ role: 'user', content }]);
	});

	test('marks a failed result as an error only once', async () => {
		const failed = (output: unknown): Message[] => [
			chat.assistantMessage('', [{ id: 'c', name: 'look', input: {} }]),
			chat.toolResultMessage({ id: 'c', output, isError: true }),
		];
		for (const output of ['no such city', 'Error: no such city']) {
			const { input } = await sent([...hello, ...failed(output)]);
			expect(Array.isArray(input) && input.at(-1).output).toBe('Error: no such city');
		}
	});

	describe('takes nothing from the environment', () => {
		afterEach(() => vi.unstubAllEnvs());

		test('even if the environment has other settings', async () => {
			vi.stubEnv('OPENAI_API_KEY', 'sk-environment');
			vi.stubEnv('OPENAI_ORG_ID', 'org-environment');
			vi.stubEnv('OPENAI_BASE_URL', 'https://environment.example');
			vi.stubEnv('OPENAI_CUSTOM_HEADERS', 'x-environment: yes');
			const { provider, requests } = at([done([])], { project: 'mine', headers: { 'x-own': 'yes' } });
			await provider.chatFn?.('gpt-5.4', hello);
			expect(requests[0]?.url).toBe('https://api.openai.com/v1/responses');
			expect(JSON.stringify([...(requests[0]?.headers ?? [])])).not.toContain('environment');
			expect(requests[0]?.headers.get('openai-project')).toBe('mine');
			expect(requests[0]?.headers.get('x-own')).toBe('yes');
		});
	});

	test('has the user agent runlet, or the user agent of the settings', async () => {
		for (const [headers, name] of [
			[{}, 'runlet'],
			[{ 'user-agent': 'shop' }, 'shop'],
		] as const) {
			const { provider, requests } = at([done([])], { headers });
			await provider.chatFn?.('gpt-5.4', hello);
			expect(requests[0]?.headers.get('user-agent')).toBe(name);
		}
	});
});

describe('openai: other requests', () => {
	test('return the vectors of any number of texts in order', async () => {
		const vectors = (from: number, count: number) => ({
			data: Array.from({ length: count }, (_, index) => ({ index, embedding: [from + index, 0.5] })).reverse(),
		});
		const { provider, requests } = at([vectors(0, 2_048), vectors(2_048, 2)]);
		const found = await provider.embedFn?.(
			'text-embedding-3-small',
			Array.from({ length: 2_050 }, (_, n) => `${n}`),
		);
		expect(found?.map(([first]) => first)).toEqual(Array.from({ length: 2_050 }, (_, n) => n));
		expect(requests.map(({ body }) => body.encoding_format)).toEqual(['float', 'float']);
	});

	test('fail if the API returns fewer vectors than texts', async () => {
		const { provider } = at([{ data: [{ index: 0, embedding: [1] }] }]);
		await expect(provider.embedFn?.('text-embedding-3-small', ['a', 'b'])).rejects.toThrow(RunletError);
	});

	test('count the tokens of a conversation', async () => {
		const { provider, requests } = at([{ object: 'response.input_tokens', input_tokens: 11 }]);
		expect(await provider.countTokens?.(hello, 'gpt-5.4')).toBe(11);
		expect(requests[0]?.url).toBe('https://api.openai.com/v1/responses/input_tokens');
		expect(requests[0]?.body).toEqual({ model: 'gpt-5.4', input: [{ role: 'user', content: 'Hello' }] });
	});
});

describe('isStrict', () => {
	const closed = {
		type: 'object',
		properties: { a: { type: 'string' } },
		required: ['a'],
		additionalProperties: false,
	};
	test.each([
		['a closed object with all fields required', closed, true],
		['a closed object within a list', { ...closed, properties: { a: { type: 'array', items: closed } } }, true],
		['an optional field', { ...closed, required: [] }, false],
		['an open inner object', { ...closed, properties: { a: { type: 'object', properties: {} } } }, false],
		['an open definition', { ...closed, $defs: { b: { type: 'object' } } }, false],
		[
			'a keyword that strict mode does not support',
			{ ...closed, properties: { a: { type: 'string', minLength: 1 } } },
			false,
		],
		['an unsupported format', { ...closed, properties: { a: { type: 'string', format: 'uri' } } }, false],
		['a root that is no object', { type: 'array', items: closed }, false],
		['a root that is a choice', { ...closed, anyOf: [closed] }, false],
	])('for %s is %s', (_, schema, expected) => expect(isStrict(schema)).toBe(expected));
});

test('openai: parallelToolCalls: false requests one call at a time', async () => {
	const look: Tool = { name: 'look', inputSchema: { type: 'object' } };
	const { provider, requests } = at([done([])]);
	await provider.chatFn?.('gpt-5.4', hello, undefined, [look], { parallelToolCalls: false });
	await provider.chatFn?.('gpt-5.4', hello, undefined, [look]);
	expect(requests.map(({ body }) => Object(body).parallel_tool_calls)).toEqual([false, undefined]);
});
