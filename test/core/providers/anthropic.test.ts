/** The adapter sends nothing that the Messages API refuses. */

import { describe, expect, test } from 'vitest';
import { chat, type Message, providers, type Tool } from '../../../src/core/index.ts';

const model = 'claude-opus-5-5';
const hello: readonly Message[] = [chat.userMessage('Hello')];
const look: Tool = { name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } };
const call = { id: 'c1', name: 'look', input: { city: 'Ulm' } };

type Options = Parameters<NonNullable<ReturnType<typeof providers.anthropic>['chatFn']>>[4];
type Settings = Partial<Parameters<typeof providers.anthropic>[0]>;

/** Returns the sent body. */
async function sent(
	messages: readonly Message[] = hello,
	{ model: name = model, options = {}, tools = [], ...settings }: Settings & Asked = {},
): Promise<Readonly<Record<string, unknown>>> {
	const bodies: Record<string, unknown>[] = [];
	const provider = providers.anthropic({
		apiKey: 'sk-test',
		cache: false,
		...settings,
		fetch: async (_, init) => {
			bodies.push(JSON.parse(`${init?.body}`));
			return Response.json({ content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' });
		},
	});
	await provider.chatFn?.(name, messages, 'Be brief.', tools, options);
	return bodies[0] ?? {};
}

interface Asked {
	readonly model?: string;
	readonly options?: Options;
	readonly tools?: readonly Tool[];
}

/** Creates a turn of the assistant with this content in the form of the API. */
function given(
	content: readonly unknown[],
	more: Partial<Extract<Message, { role: 'assistant' }>> = {},
	container?: string,
): Message {
	const anthropic = { content, container };
	return { role: 'assistant', content: '', providerMetadata: { anthropic }, ...more };
}

const adaptive = { type: 'adaptive', display: 'summarized' };

describe('the effort of thinking', () => {
	test.each([
		['claude-opus-4-6', 'none', { type: 'disabled' }, undefined],
		['claude-opus-4-6', 'xhigh', { type: 'adaptive' }, 'high'],
		['claude-opus-4-7', 'xhigh', adaptive, 'xhigh'],
		['claude-opus-4-8', 'none', { type: 'disabled' }, undefined],
		['claude-opus-5', 'none', { type: 'disabled' }, undefined],
		['claude-opus-5-5', 'none', undefined, 'low'],
		['claude-opus-5-5', 'minimal', adaptive, 'low'],
		['claude-sonnet-5', 'none', { type: 'disabled' }, undefined],
		['claude-sonnet-5-5', 'none', { type: 'between_tools' }, undefined],
		['claude-haiku-5-5', 'none', { type: 'disabled' }, undefined],
		['claude-fable-5', 'none', undefined, 'low'],
		['claude-mythos-5-2', 'none', undefined, 'low'],
		['claude-mythos-preview', 'none', undefined, 'low'],
		['claude-mythos-preview', 'xhigh', adaptive, 'high'],
		['claude-haiku-4-5-20251001', 'none', { type: 'disabled' }, undefined],
		['claude-haiku-4-5-20251001', 'low', { type: 'enabled', budget_tokens: 2_048 }, undefined],
		['claude-3-5-haiku-20241022', 'high', undefined, undefined],
	] as const)('%s gets the effort %s in its own format', async (name, reasoningEffort, thinking, effort) => {
		const body = await sent(hello, { model: name, options: { reasoningEffort } });
		expect(body.thinking).toEqual(thinking);
		expect(body.output_config).toEqual(effort && { effort });
	});

	test('is sent even if a forced tool turns thinking off', async () => {
		const options: Options = { reasoningEffort: 'high', toolChoice: 'required' };
		const body = await sent(hello, { model: 'claude-opus-4-8', options, tools: [look] });
		expect(body).toMatchObject({ tool_choice: { type: 'any' }, output_config: { effort: 'high' } });
		expect(body.thinking).toBeUndefined();
	});
});

test('parallelToolCalls: false requests one call at a time for any tool choice', async () => {
	for (const [toolChoice, type] of [
		[undefined, 'auto'],
		['required', 'any'],
		[{ name: 'look' }, 'tool'],
	] as const) {
		const body = await sent(hello, { options: { toolChoice, parallelToolCalls: false }, tools: [look] });
		expect(body.tool_choice).toMatchObject({ type, disable_parallel_tool_use: true });
	}
});

describe('a turn of the history', () => {
	test('is sent without empty texts and without the files of its citations', async () => {
		const thought = { type: 'thinking', thinking: '', signature: 'sig' };
		const place = { type: 'char_location', cited_text: 'a', document_index: 0, start_char_index: 0, end_char_index: 1 };
		const cited = { type: 'text', text: 'Yes.', citations: [{ ...place, file_id: null }] };
		const { messages } = await sent([...hello, given([thought, { type: 'text', text: '' }, cited]), ...hello]);
		expect(messages).toMatchObject([
			{},
			{ content: [thought, { type: 'text', text: 'Yes.', citations: [place] }] },
			{ role: 'user' },
		]);
		expect(JSON.stringify(messages)).not.toMatch(/file_id|"text":""/);
	});

	test('is sent with its container only if it is the current turn', async () => {
		const turn = given([{ type: 'tool_use', id: 'c1', name: 'look' }], { toolCalls: [call] }, 'container_1');
		const result = chat.toolResultMessage({ id: 'c1', output: 'fine', isError: false });
		expect((await sent([...hello, turn, result])).container).toEqual({ id: 'container_1' });
		const skills = [{ type: 'anthropic', skill_id: 'pdf' }];
		expect((await sent([...hello, turn, result], { body: { container: { skills } } })).container).toEqual({
			id: 'container_1',
			skills,
		});
		expect((await sent([...hello, turn, result, ...hello])).container).toBeUndefined();
	});

	test('loses its trailing space if it is the last message', async () => {
		const { messages } = await sent([...hello, chat.assistantMessage('The answer is \n')], { cache: '5m' });
		const text = { type: 'text', text: 'The answer is', cache_control: { type: 'ephemeral' } };
		expect(messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: [text] }]);
		const next = await sent([
			...hello,
			chat.assistantMessage('The answer is \n'),
			chat.assistantMessage('42 '),
			...hello,
		]);
		const whole = [{ text: 'The answer is' }, { text: '42 ' }];
		expect(next.messages).toMatchObject([{ role: 'user' }, { role: 'assistant', content: whole }, { role: 'user' }]);
	});
});

describe('results', () => {
	const calls = chat.assistantMessage('', [call]);
	const answered = async (result: Partial<Message>) => {
		const message = { role: 'tool', toolCallId: 'c1', content: '', ...result } as Message;
		const { messages } = await sent([...hello, calls, message]);
		return Array.isArray(messages) ? messages[2].content[0] : undefined;
	};

	test('with an error have an error mark, or begin with “Error:” if they contain an image', async () => {
		const image = chat.imagePart('aGk=', 'image/png');
		const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' };
		expect(await answered({ isError: true, parts: [chat.textPart('It broke.'), image] })).toEqual({
			type: 'tool_result',
			tool_use_id: 'c1',
			content: [
				{ type: 'text', text: 'Error:' },
				{ type: 'text', text: 'It broke.' },
				{ type: 'image', source },
			],
		});
		expect(await answered({ isError: true, parts: [chat.textPart('It broke.')] })).toMatchObject({
			content: 'It broke.',
			is_error: true,
		});
	});

	test('contain the name of an image instead of the image if its type is unsupported', async () => {
		const images = [chat.imagePart('PHN2Zy8+', 'image/svg+xml'), chat.imagePart('/9j/', 'image/jpg')];
		const [svg, jpeg] = [
			{ type: 'text', text: '[image:image]' },
			{ type: 'image', source: { media_type: 'image/jpeg' } },
		];
		expect(await answered({ parts: images })).toMatchObject({ content: [svg, jpeg] });
		expect((await sent([chat.userMessage(images)])).messages).toMatchObject([{ content: [svg, jpeg] }]);
	});
});

test('if the API refuses the thinking of the history, a second request is sent without the thinking', async () => {
	const thinking = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };
	const thoughts = [thinking, { type: 'redacted_thinking', data: 'x' }];
	const history = [...hello, given([...thoughts, { type: 'text', text: 'Hi' }]), ...hello, given(thoughts), ...hello];
	const bodies: Record<string, unknown>[] = [];
	const provider = (message: string) =>
		providers.anthropic({
			apiKey: 'sk-test',
			cache: false,
			fetch: async (_, init) => {
				if (bodies.push(JSON.parse(`${init?.body}`)) === 2)
					return Response.json({ content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' });
				return Response.json({ type: 'error', error: { type: 'invalid_request_error', message } }, { status: 400 });
			},
		});
	const refused =
		'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.';
	expect(await provider(refused).chatFn?.(model, history)).toMatchObject({ text: 'Hi' });
	expect(bodies[0]?.messages).toMatchObject([
		{},
		{ content: [...thoughts, { text: 'Hi' }] },
		{},
		{ content: thoughts },
		{},
	]);
	const user = { role: 'user', content: [{ type: 'text', text: 'Hello' }] };
	const answer = { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] };
	expect(bodies[1]).toEqual({ ...bodies[0], messages: [user, answer, user, user] });
	bodies.length = 0;
	await expect(provider('Invalid `signature` in `thinking` block').chatFn?.(model, history)).rejects.toThrow(
		'signature',
	);
	expect(bodies).toHaveLength(1);
});

describe('a system message within the conversation', () => {
	const now: Message = { role: 'system', content: 'Now in Latin.' };
	const system = { role: 'system', content: [{ type: 'text', text: 'Now in Latin.' }] };
	const front = (...texts: string[]) => [{ type: 'text', text: texts.join('\n\n') }];
	const reply = chat.assistantMessage('Salve.');

	test("is sent between the user's turn and the answer", async () => {
		const first = await sent([...hello, reply, now, ...hello]);
		expect(first.system).toEqual(front('Be brief.'));
		expect(first.messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'user' }, system]);
		const next = await sent([...hello, reply, now, ...hello, reply, ...hello]);
		expect(next.system).toEqual(first.system);
		expect(next.messages).toMatchObject([...[first.messages].flat(), { role: 'assistant' }, { role: 'user' }]);
	});

	test('comes after all results of a turn, joined with an adjacent system message', async () => {
		const results = chat.toolResultMessage({ id: 'c1', output: 'fine', isError: false });
		const asked = chat.assistantMessage('', [call]);
		const { messages } = await sent([...hello, asked, now, results, now, reply, ...hello]);
		const both = { role: 'system', content: [{ type: 'text', text: 'Now in Latin.\n\nNow in Latin.' }] };
		const roles = [{ role: 'user' }, { role: 'assistant' }, { role: 'user' }, both, { role: 'assistant' }];
		expect(messages).toMatchObject([...roles, { role: 'user' }]);
	});

	test('has no cache mark, but the turn before it has the mark', async () => {
		const { messages } = await sent([...hello, now], { cache: '5m' });
		const marked = { type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } };
		expect(messages).toEqual([{ role: 'user', content: [marked] }, system]);
	});

	test('becomes part of the system prompt if it comes first', async () => {
		const body = await sent([now, ...hello]);
		expect(body.system).toEqual(front('Be brief.', 'Now in Latin.'));
		expect(JSON.stringify(body.messages)).not.toContain('Latin');
	});

	test.each([
		['after the last answer', model, [...hello, reply, now]],
		['for an older model', 'claude-opus-4-7', [...hello, now]],
		['for Sonnet 5', 'claude-sonnet-5', [...hello, now]],
	])('is sent as a user message in the same place: %s', async (_, name, messages) => {
		const body = await sent(messages, { model: name });
		expect(body.system).toEqual(front('Be brief.'));
		const text = { type: 'text', text: '<system>\nNow in Latin.\n</system>' };
		expect([body.messages].flat().at(-1)).toMatchObject({ role: 'user', content: expect.arrayContaining([text]) });
	});
});

test('without streaming, the last call of an answer is dropped if max_tokens cut the answer', async () => {
	const content = [
		{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { city: 'Ulm' } },
		{ type: 'tool_use', id: 'toolu_2', name: 'look', input: { city: 'Bo' } },
	];
	const provider = providers.anthropic({
		apiKey: 'sk-test',
		fetch: async () => Response.json({ content, stop_reason: 'max_tokens' }),
	});
	const reply = await provider.chatFn?.(model, hello, undefined, [look]);
	expect(reply).toMatchObject({ stopReason: 'max_tokens', toolCalls: [{ id: 'toolu_1', input: { city: 'Ulm' } }] });
	expect(reply?.toolCalls).toHaveLength(1);
});

test('an answer with `speed: standard` has the usual price', async () => {
	const usage = { input_tokens: 1_000_000, output_tokens: 0, speed: 'standard', service_tier: 'standard' };
	const provider = providers.anthropic({
		apiKey: 'sk-test',
		fetch: async () => Response.json({ content: [], stop_reason: 'end_turn', usage }),
	});
	expect((await provider.chatFn?.('claude-haiku-4-5', hello))?.usage).toMatchObject({ costUsd: 1 });
});

test('the price of a one-hour cache is reserved if the body requests that cache', () => {
	const asked = { inputTokens: 1_000_000, outputTokens: 0 };
	const most = (body?: object) =>
		providers.anthropic({ apiKey: 'sk-test', body: { ...body } }).computeMost?.('claude-haiku-4-5', asked).usd;
	expect(most()).toBeCloseTo(1.25);
	expect(most({ cache_control: { type: 'ephemeral', ttl: '1h' } })).toBeCloseTo(2);
});

test('the writes of several iterations to a one-hour cache are charged at its price', async () => {
	const run = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 1_000_000 };
	const hour = { cache_creation: { ephemeral_1h_input_tokens: 1_000_000 } };
	const provider = providers.anthropic({
		apiKey: 'sk-test',
		fetch: async () =>
			Response.json({
				content: [],
				stop_reason: 'end_turn',
				usage: {
					...run,
					...hour,
					iterations: [
						{ ...run, ...hour },
						{ ...run, ...hour },
					],
				},
			}),
	});
	expect((await provider.chatFn?.('claude-haiku-4-5', hello))?.usage).toMatchObject({ costUsd: 4 });
});

test('code execution in an interrupted reply is charged', async () => {
	const events = [
		{ type: 'message_start', message: { content: [], usage: { input_tokens: 10, output_tokens: 1 } } },
		{
			type: 'content_block_start',
			index: 0,
			content_block: { type: 'server_tool_use', id: 's1', name: 'bash_code_execution', input: {} },
		},
	];
	const provider = providers.anthropic({
		apiKey: 'sk-test',
		fetch: async () =>
			new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''), {
				headers: { 'content-type': 'text/event-stream' },
			}),
	});
	const cut = provider.chatStreamFn?.('claude-haiku-4-5', hello, undefined, undefined, () => undefined);
	await expect(cut).rejects.toMatchObject({
		code: 'interrupted',
		data: { usage: { units: { container_minutes: 5 }, costUsd: expect.closeTo(0.05 / 12 + 0.000015, 6) } },
	});
});
