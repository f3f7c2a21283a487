import { runDurableObjectAlarm, runInDurableObject, SELF } from 'cloudflare:test';
import OpenAI, { APIError, BadRequestError, NotFoundError } from 'openai';
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { describe, expect, test } from 'vitest';
import { readHistory, readObject, readState, request, restart } from '../../client.ts';
import { play } from '../../script.ts';

const client = new OpenAI({
	apiKey: 'any',
	baseURL: 'http://localhost/v1',
	fetch: (url, init) => SELF.fetch(url, init),
});
const { completions } = client.chat;

const model = 'scripted';
const ask = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }];
const weather: ChatCompletionTool = {
	type: 'function',
	function: {
		name: 'weather',
		description: 'The weather.',
		parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
	},
};
const callsWeather = { text: 'Let me see.', toolCalls: [{ id: 'w1', name: 'weather', input: { at: 'Oslo' } }] };
const weatherCall = { id: 'w1', type: 'function' as const, function: { name: 'weather', arguments: '{"at":"Oslo"}' } };
const usage = { inputTokens: 10, outputTokens: 4, cachedInputTokens: 3, reasoningTokens: 2 };

async function inSession(name: string, messages: ChatCompletionMessageParam[], more: object = {}) {
	const { data, response } = await completions
		.create({ model, messages, ...more, stream: false }, { headers: { 'Runlet-Session': name }, maxRetries: 0 })
		.withResponse();
	return {
		text: data.choices[0]?.message.content,
		choice: data.choices[0],
		session: response.headers.get('runlet-session') ?? '',
	};
}

async function thrown(work: Promise<unknown>): Promise<unknown> {
	return work.then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => error,
	);
}

describe('an answer', () => {
	test('is a completion with its usage', async () => {
		play({ text: 'Hello.', reasoning: 'Hm.', usage });
		const completion = await completions.create({ model, messages: ask('Hi') });
		expect(completion).toEqual({
			id: expect.stringMatching(/^chatcmpl-run_/),
			object: 'chat.completion',
			created: expect.any(Number),
			model,
			choices: [
				{
					index: 0,
					message: { role: 'assistant', content: 'Hello.', refusal: null, reasoning_content: 'Hm.' },
					logprobs: null,
					finish_reason: 'stop',
				},
			],
			usage: {
				prompt_tokens: 10,
				completion_tokens: 4,
				total_tokens: 14,
				prompt_tokens_details: { cached_tokens: 3 },
				completion_tokens_details: { reasoning_tokens: 2 },
			},
		});
	});

	test('has the same text if it is streamed, and its usage is in a last chunk without choices', async () => {
		const turns = [
			{ text: 'Let me see.', toolCalls: [{ id: 'e', name: 'echo', input: { text: 'x' } }], usage },
			{ text: 'It is x.', usage },
		];
		play(...turns);
		const whole = await completions.create({ model, messages: ask('What is it?') });
		play(...turns);
		const stream = await completions.create({
			model,
			messages: ask('What is it?'),
			stream: true,
			stream_options: { include_usage: true },
		});
		const chunks = await Array.fromAsync(stream);
		const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
		expect(text).toBe('Let me see.\n\nIt is x.');
		expect(whole.choices[0]?.message.content).toBe(text);
		expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
		expect(chunks.at(-2)?.choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' });
		expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
		expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
		expect(chunks.slice(0, -1).every(({ usage: none }) => none === null)).toBe(true);
	});

	test('succeeds with web_search_options if the agent has a web search', async () => {
		const { requests } = play('It rains.');
		const options = { web_search_options: { search_context_size: 'low' } } as const;
		const whole = await completions.create({ model: 'searcher:scripted', messages: ask('Does it rain?'), ...options });
		expect(whole.choices[0]?.message.content).toBe('It rains.');
		expect(requests).toHaveLength(1);
	});

	test('has the cited pages as annotations of the message and of the last delta', async () => {
		const source = { id: 'p1', url: 'https://rain.example/', title: 'Rain' };
		const turn = { text: 'It rains.', usage, sources: [source] };
		const { id: _, ...page } = source;
		const annotations = [{ type: 'url_citation', url_citation: { ...page, start_index: 0, end_index: 0 } }];
		play(turn);
		const whole = await completions.create({ model, messages: ask('Does it rain?') });
		expect(whole.choices[0]?.message).toEqual({ role: 'assistant', content: 'It rains.', refusal: null, annotations });
		play(turn);
		const stream = completions.stream({ model, messages: ask('Does it rain?') });
		const chunks = await Array.fromAsync(stream);
		expect(chunks.at(-1)?.choices[0]).toMatchObject({ delta: { annotations }, finish_reason: 'stop' });
		expect((await stream.finalChatCompletion()).choices[0]?.message).toMatchObject({ annotations });
	});

	test('has no usage chunk if stream_options is missing', async () => {
		play('Hello.');
		const response = await request('/v1/chat/completions', { model, messages: ask('Hi'), stream: true });
		expect(response.headers.get('content-type')).toBe('text/event-stream');
		const body = await response.text();
		expect(body).not.toContain('usage');
		expect(body).toMatch(/"finish_reason":"stop"}\]}\n\ndata: \[DONE\]\n\n$/);
	});

	test('is complete even if it is longer than a stream buffer', async () => {
		const long = 'x'.repeat(200_000);
		play(long);
		const { choices } = await completions.create({ model, messages: ask('Much') });
		expect(choices[0]?.message.content).toBe(long);
	});

	test.each([
		['max_tokens', 'length'],
		['refusal', 'content_filter'],
		['acme_special', 'stop'],
	])('whose model ended with %s has the finish reason %s', async (stopReason, expected) => {
		play({ text: 'So', stopReason });
		const { choices } = await completions.create({ model, messages: ask('Hi') });
		expect(choices[0]?.finish_reason).toBe(expected);
	});

	test('is the text of a tool’s question if the run asks one', async () => {
		play({ toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which one?' } }] });
		const { choices } = await completions.create({ model, messages: ask('Book') });
		expect(choices[0]).toMatchObject({ message: { content: 'Which one?' }, finish_reason: 'stop' });
	});

	test('is the halt reason if a halted run has no text', async () => {
		play({ toolCalls: [{ id: 's', name: 'stop', input: {} }] });
		const { choices } = await completions.create({ model, messages: ask('Stop') });
		expect(choices[0]).toMatchObject({ message: { content: 'stopped' }, finish_reason: 'stop' });
	});
});

describe('a request to the model', () => {
	test("has the client's messages, and the client's system messages beside the agent's own prompt", async () => {
		const { requests } = play('Fine.');
		await completions.create({
			model: 'prompted',
			messages: [
				{ role: 'system', content: 'Speak French.' },
				{ role: 'user', content: 'One' },
				{ role: 'assistant', content: 'Un' },
				{ role: 'developer', content: 'Be brief.' },
				{ role: 'user', content: 'Two' },
				{ role: 'user', content: 'and three' },
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

	test('has images, audio and files as parts', async () => {
		const { requests } = play('Seen.');
		await completions.create({
			model,
			messages: [
				{
					role: 'user',
					content: [
						{ type: 'text', text: 'Look' },
						{ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
						{ type: 'image_url', image_url: { url: 'data:image/png;base64,aGVs' } },
						{ type: 'input_audio', input_audio: { data: 'aGVs', format: 'mp3' } },
						{ type: 'file', file: { file_data: 'data:application/pdf;base64,aGVs', filename: 'a.pdf' } },
					],
				},
			],
		});
		const [message] = requests[0]?.messages ?? [];
		expect(message && 'parts' in message ? message.parts : undefined).toEqual([
			{ kind: 'text', text: 'Look' },
			{ kind: 'image', url: 'https://example.com/a.png', meta: { detail: 'low' } },
			{ kind: 'image', mime: 'image/png', data: 'aGVs' },
			{ kind: 'audio', mime: 'audio/mpeg', data: 'aGVs' },
			{ kind: 'file', mime: 'application/pdf', data: 'aGVs', name: 'a.pdf' },
		]);
	});

	test("has the client's max_tokens as its limit, or the agent's own limit if it is lower", async () => {
		const { requests } = play('a', 'b', 'c');
		await completions.create({ model, messages: ask('Hi'), max_completion_tokens: 7 });
		await completions.create({ model: 'thrifty', messages: ask('Hi'), max_tokens: 7 });
		await completions.create({ model: 'thrifty', messages: ask('Hi'), max_tokens: 900 });
		expect(requests.map(({ options }) => options?.maxOutputTokens)).toEqual([7, 7, 100]);
	});

	test('is the same if the client sends fields that Runlet ignores', async () => {
		const { requests } = play('Fine.');
		await completions.create({
			...{
				model,
				messages: ask('Hi'),
				temperature: 0.5,
				top_p: 1,
				seed: 1,
				user: 'u',
				metadata: { a: 'b' },
				store: true,
			},
			...{ presence_penalty: 1, frequency_penalty: 1, logit_bias: {}, stop: null, n: 1, logprobs: false },
			...{ response_format: { type: 'text' }, service_tier: 'auto', reasoning_effort: 'low', tools: [] },
		});
		expect(requests[0]?.messages).toHaveLength(1);
	});
});

describe("the client's tools", () => {
	test('are called by the client', async () => {
		const { requests } = play(callsWeather, 'It rains.');
		const first = await completions.create({ model, messages: ask('Weather?'), tools: [weather] });
		expect(first.choices[0]).toMatchObject({
			message: { content: 'Let me see.', tool_calls: [weatherCall] },
			finish_reason: 'tool_calls',
		});
		const message = first.choices[0]?.message ?? expect.unreachable();
		const second = await completions.create({
			model,
			messages: [...ask('Weather?'), message, { role: 'tool', tool_call_id: 'w1', content: 'rain' }],
			tools: [weather],
		});
		expect(second.choices[0]).toMatchObject({ message: { content: 'It rains.' }, finish_reason: 'stop' });
		expect(requests[1]?.messages).toMatchObject([
			{ role: 'user', content: 'Weather?' },
			{ role: 'assistant', content: 'Let me see.', toolCalls: [{ id: 'w1', name: 'weather', input: { at: 'Oslo' } }] },
			{ role: 'tool', toolCallId: 'w1', content: 'rain' },
		]);
	});

	test('are called in a stream that the client library can read', async () => {
		const two = [...callsWeather.toolCalls, { id: 'w2', name: 'weather', input: { at: 'Rome' } }];
		play({ toolCalls: two });
		const runner = completions.stream({ model, messages: ask('Weather?'), tools: [weather] });
		const { choices } = await runner.finalChatCompletion();
		expect(choices[0]).toMatchObject({
			message: { tool_calls: [weatherCall, { id: 'w2', function: { name: 'weather', arguments: '{"at":"Rome"}' } }] },
			finish_reason: 'tool_calls',
		});
	});

	test('run in the tool loop of the client library, with and without streaming', async () => {
		const tool: RunnableToolFunctionWithParse<{ at: string }> = {
			type: 'function',
			function: {
				name: 'weather',
				description: 'The weather.',
				parameters: { type: 'object', properties: { at: { type: 'string' } } },
				parse: (text) => JSON.parse(text),
				function: ({ at }) => `rain in ${at}`,
			},
		};
		const tools = [tool];
		play(callsWeather, 'It rains.');
		const runner = completions.runTools({ model, messages: ask('Weather?'), tools });
		expect(await runner.finalContent()).toBe('It rains.');
		play(callsWeather, 'It rains.');
		const streaming = completions.runTools({ model, messages: ask('Weather?'), tools, stream: true });
		expect(await streaming.finalContent()).toBe('It rains.');
		expect(await streaming.finalFunctionToolCallResult()).toBe('rain in Oslo');
	});

	test("are left to the client even if the same turn calls the agent's own tools", async () => {
		const own = { id: 'o', name: 'echo', input: { text: 'inside' } };
		play({ toolCalls: [own, ...callsWeather.toolCalls] });
		const { choices } = await completions.create({ model, messages: ask('Both'), tools: [weather] });
		expect(choices[0]).toMatchObject({ message: { content: null, tool_calls: [weatherCall] } });
		expect(JSON.stringify(choices)).not.toContain('inside');
	});

	test('are called only with valid arguments, and the model gets an error for an invalid call', async () => {
		const { requests } = play({ toolCalls: [{ id: 'w1', name: 'weather', input: { at: 3 } }] }, callsWeather);
		const { choices } = await completions.create({ model, messages: ask('Weather?'), tools: [weather] });
		expect(choices[0]?.message.tool_calls).toEqual([weatherCall]);
		expect(requests).toHaveLength(2);
	});

	test('can be forced by tool_choice, but only in the first turn', async () => {
		const { requests } = play(callsWeather, 'It rains.');
		const tool_choice = { type: 'function' as const, function: { name: 'weather' } };
		const messages: ChatCompletionMessageParam[] = ask('Weather?');
		await completions.create({ model, messages, tools: [weather], tool_choice });
		messages.push(
			{ role: 'assistant', tool_calls: [weatherCall] },
			{ role: 'tool', tool_call_id: 'w1', content: 'rain' },
		);
		await completions.create({ model, messages, tools: [weather], tool_choice });
		expect(requests.map(({ options }) => options?.toolChoice)).toEqual([{ name: 'weather' }, 'auto']);
	});

	test('are not offered if tool_choice is `none`, and the agent keeps its own tools', async () => {
		const { requests } = play('Fine.');
		await completions.create({ model, messages: ask('Hi'), tools: [weather], tool_choice: 'none' });
		const names = requests[0]?.tools?.map(({ name }) => name);
		expect(names).toContain('echo');
		expect(names).not.toContain('weather');
	});
});

describe('a run that waits for somebody other than the client', () => {
	test.each([
		['an approval', { id: 'p', name: 'pay', input: { amount: 3 } }, 'pay'],
		['the result of a manual tool', { id: 'b', name: 'by_hand', input: {} }, 'by_hand'],
	])(
		'returns a status that no client retries if it waits for %s, and can be answered in its session',
		async (_, call, name) => {
			const { requests } = play({ toolCalls: [call] }, 'Paid.');
			const error = await thrown(completions.create({ model, messages: ask('Go') }).asResponse());
			if (!(error instanceof APIError)) throw error;
			expect(error).toMatchObject({ status: 406, code: 'awaiting_tools', message: expect.stringContaining(name) });
			expect(requests).toHaveLength(1);
			const id = error.headers?.get('runlet-session') ?? '';
			const answer = name === 'pay' ? { id: 'p', approve: true } : { id: 'b', output: 'done' };
			const done = await request(`/v1/sessions/${id}/tool-results`, [answer]);
			expect(await done.json()).toMatchObject({ status: 'completed', text: 'Paid.' });
		},
	);
});

describe('a session that the header runlet-session names', () => {
	test('keeps the history, and reads only new messages', async () => {
		const { requests } = play('One.', 'Two.', 'Three.');
		const first = await inSession('mine', [{ role: 'system', content: 'Be brief.' }, ...ask('1')]);
		const second = await inSession('mine', ask('2'));
		await inSession('mine', [
			{ role: 'system', content: 'Be long.' },
			...ask('not what was said'),
			{ role: 'assistant', content: 'nor this' },
			...ask('3'),
		]);
		expect(second.session).toBe(first.session);
		expect(requests[2]?.messages.map(({ content }) => content)).toEqual(['Be brief.', '1', 'One.', '2', 'Two.', '3']);
	});

	test('can also be named by its id, and belongs to one agent', async () => {
		play('One.', 'Two.');
		const { session } = await inSession('by id', ask('1'));
		expect((await inSession(session, ask('2'))).text).toBe('Two.');
		const error = await thrown(inSession(session, ask('3'), { model: 'plain' }));
		expect(error).toMatchObject({ status: 400, param: 'model', message: expect.stringContaining('"scripted"') });
	});

	test("accepts the results of the client's tools, and each request defines its own client tools", async () => {
		const { requests } = play(callsWeather, 'It rains.', 'Fine.');
		await inSession('tools', ask('Weather?'), { tools: [weather] });
		const result: ChatCompletionMessageParam = { role: 'tool', tool_call_id: 'w1', content: 'rain' };
		expect(await thrown(inSession('tools', ask('And?'), { tools: [weather] }))).toMatchObject({ status: 409 });
		expect(await thrown(inSession('tools', [{ ...result, tool_call_id: 'w9' }]))).toMatchObject({ status: 400 });
		expect((await inSession('tools', [result], { tools: [weather] })).text).toBe('It rains.');
		await inSession('tools', ask('Thanks'));
		expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'rain', toolCallId: 'w1' });
		expect(requests.map(({ tools }) => tools?.some(({ name }) => name === 'weather'))).toEqual([true, true, false]);
	});

	test('refuses a request that has only some of the results', async () => {
		const two = [...callsWeather.toolCalls, { id: 'w2', name: 'weather', input: { at: 'Rome' } }];
		play({ toolCalls: two }, 'It rains.');
		const { session } = await inSession('parts', ask('Weather?'), { tools: [weather] });
		const results = two.map(
			({ id }): ChatCompletionMessageParam => ({ role: 'tool', tool_call_id: id, content: 'rain' }),
		);
		const error = await thrown(inSession('parts', results.slice(0, 1), { tools: [weather] }));
		expect(error).toMatchObject({ status: 400, param: 'messages' });
		expect(await readState(session)).toMatchObject({
			status: 'awaiting_tools',
			toolCalls: [{ id: 'w1' }, { id: 'w2' }],
		});
		expect((await inSession('parts', results, { tools: [weather] })).text).toBe('It rains.');
	});

	test('reads the next message as the answer to a question', async () => {
		const { requests } = play({ toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which one?' } }] }, 'Booked.');
		await inSession('asks', ask('Book'));
		expect((await inSession('asks', ask('The red one'))).text).toBe('Booked.');
		expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'The red one', toolCallId: 'q' });
	});

	test('continues a failed run when the client sends the results again', async () => {
		play(callsWeather, new Error('broken'), 'It rains.');
		await inSession('fails', ask('Weather?'), { tools: [weather] });
		const results: ChatCompletionMessageParam[] = [{ role: 'tool', tool_call_id: 'w1', content: 'rain' }];
		expect(await thrown(inSession('fails', results, { tools: [weather] }))).toMatchObject({ status: 406 });
		expect((await inSession('fails', results, { tools: [weather] })).text).toBe('It rains.');
	});

	test('refuses a second request during a run', async () => {
		const begun = Promise.withResolvers<void>();
		const going = Promise.withResolvers<string>();
		play(() => {
			begun.resolve();
			return going.promise;
		});
		const first = inSession('busy', ask('1'));
		await begun.promise;
		expect(await thrown(inSession('busy', ask('2')))).toMatchObject({ status: 409 });
		const named = { 'runlet-session': 'busy' };
		const refused = await request('/v1/chat/completions', { model, messages: ask('2') }, named);
		// A refused client gets the id of the session.
		expect([refused.status, refused.headers.get('runlet-session')]).toEqual([
			409,
			expect.stringMatching(/^[0-9a-f]{64}$/),
		]);
		going.resolve('One.');
		expect((await first).text).toBe('One.');
	});

	test('can begin with tool results only if the request also has their calls', async () => {
		const { requests } = play('It rains.');
		const result: ChatCompletionMessageParam = { role: 'tool', tool_call_id: 'w1', content: 'rain' };
		expect(await thrown(inSession('late', [result]))).toBeInstanceOf(NotFoundError);
		const calls: ChatCompletionMessageParam = { role: 'assistant', tool_calls: [weatherCall] };
		expect((await inSession('late', [...ask('Weather?'), calls, result])).text).toBe('It rains.');
		expect(requests[0]?.messages).toHaveLength(3);
	});

	test('is not found if the header has an unknown id', async () => {
		play('One.');
		const { session } = await inSession('gone', ask('1'));
		await request(`/v1/sessions/${session}`, undefined, {}, 'DELETE');
		expect(await thrown(inSession(session, ask('2')))).toBeInstanceOf(NotFoundError);
	});
});

describe('a request without a session', () => {
	test('gets its own session, which expires', async () => {
		play('Fine.', 'Fine.');
		const messages = [...ask('One'), { role: 'assistant' as const, content: 'Un' }, ...ask('Two')];
		const first = await completions.create({ model, messages }).withResponse();
		const second = await completions.create({ model, messages }).withResponse();
		const id = first.response.headers.get('runlet-session') ?? '';
		expect(second.response.headers.get('runlet-session')).not.toBe(id);
		expect(await readState(id)).toMatchObject({ status: 'completed', agent: model });
		// The alarm of the run remains, and does nothing.
		await runDurableObjectAlarm(readObject(id));
		const alarm = await runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());
		expect((alarm ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
		expect((alarm ?? 0) - Date.now()).toBeLessThanOrEqual(3_600_000);
		expect((await readHistory(id)).map(({ content }) => content)).toEqual(['One', 'Un', 'Two', 'Fine.']);
	});

	test('has the same limit and tools after a crash', async () => {
		const { requests } = play(() => new Promise(() => {}), callsWeather);
		const tool_choice = { type: 'function' as const, function: { name: 'weather' } };
		const about = { tools: [weather], tool_choice, max_tokens: 9, stream: true as const };
		const body = { model, messages: ask('Weather?'), ...about };
		const { response } = await completions.create(body).withResponse();
		const id = response.headers.get('runlet-session') ?? '';
		await expect.poll(() => requests.length).toBe(1);
		await restart(id);
		await expect.poll(async () => (await readState(id)).status).toBe('awaiting_tools');
		expect(requests[1]?.options).toMatchObject({ maxOutputTokens: 9, toolChoice: { name: 'weather' } });
		expect(requests[1]?.tools?.some(({ name }) => name === 'weather')).toBe(true);
	});

	test('that is repeated with its Idempotency-Key gets its first answer', async () => {
		const { requests } = play('Once.');
		const headers = { 'Idempotency-Key': 'chat-key' };
		const body = { model, messages: ask('Hi') };
		const first = await completions.create(body, { headers });
		expect((await completions.create(body, { headers })).choices).toEqual(first.choices);
		expect(requests).toHaveLength(1);
		const other = await thrown(completions.create({ ...body, messages: ask('Ho') }, { headers }));
		expect(other).toMatchObject({ status: 409, param: 'Idempotency-Key' });
	});
});

describe('a failure', () => {
	test('of a run has a status that the client library does not retry', async () => {
		const { requests } = play(new Error('broken'), 'Not this.');
		const error = await thrown(completions.create({ model, messages: ask('Hi') }));
		expect(error).toBeInstanceOf(APIError);
		expect(error).toMatchObject({ status: 406, type: 'server_error', code: 'provider_error' });
		expect(requests).toHaveLength(1);
	});

	test('of a stream is thrown after the text that was streamed before', async () => {
		play(async (_, onDelta) => {
			await onDelta({ type: 'text', text: 'So far' });
			return new Error('broken');
		});
		const stream = await completions.create({ model, messages: ask('Hi'), stream: true });
		let text = '';
		const error = await thrown(
			(async () => {
				for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
			})(),
		);
		expect(text).toBe('So far');
		expect(error).toBeInstanceOf(APIError);
		expect(error).toMatchObject({ code: 'provider_error', type: 'server_error' });
	});

	test('due to a spent budget is the error insufficient_quota, with a status that the client does not retry', async () => {
		play('a');
		const error = await thrown(completions.create({ model: 'thrifty', messages: ask('x'.repeat(40_000)) }));
		expect(error).toMatchObject({ status: 402, type: 'insufficient_quota', code: 'budget_exceeded' });
	});

	test('due to a conversation that is too long has the code context_length_exceeded', async () => {
		play('a');
		const error = await thrown(completions.create({ model: 'full-fail', messages: ask('x'.repeat(40_000)) }));
		expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded' });
	});

	test('due to an unknown model lists the known models', async () => {
		const error = await thrown(completions.create({ model: 'gpt-5', messages: ask('Hi') }));
		expect(error).toBeInstanceOf(NotFoundError);
		expect(error).toMatchObject({
			code: 'model_not_found',
			param: 'model',
			message: expect.stringContaining('scripted'),
		});
	});
});

describe('GET /v1/models', () => {
	test('lists the agents as models', async () => {
		const names = (await Array.fromAsync(client.models.list())).map(({ id }) => id);
		expect(names).toContain('scripted');
		expect(await client.models.retrieve('scripted')).toMatchObject({
			id: 'scripted',
			object: 'model',
			created: 0,
			owned_by: 'runlet',
		});
		expect(await thrown(client.models.retrieve('gpt-5'))).toMatchObject({ status: 404, code: 'model_not_found' });
	});
});

describe('the validation of a request', () => {
	const call = (name: string, id = 'c') => ({
		role: 'assistant',
		tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }],
	});
	const result = { role: 'tool', tool_call_id: 'c', content: 'x' };
	const part = (one: object) => ({ messages: [{ role: 'user', content: [one] }] });
	const tool = (more: object) => ({ tools: [weather, { type: 'function', function: { name: 'b', ...more } }] });
	const cases: readonly [name: string, body: object, param: string][] = [
		['no messages', { messages: [] }, 'messages'],
		['messages that are not a list', { messages: 'Hi' }, 'messages'],
		['an unknown role', { messages: [{ role: 'critic', content: 'x' }] }, 'messages[0].role'],
		['no content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
		['an empty message', { messages: ask('  ') }, 'messages[0].content'],
		['an unknown part', part({ type: 'movie' }), 'messages[0].content[0].type'],
		[
			'an image with the URL of a local file',
			part({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }),
			'messages[0].content[0].image_url.url',
		],
		[
			'an image over http',
			part({ type: 'image_url', image_url: { url: 'http://a.example/b' } }),
			'messages[0].content[0].image_url.url',
		],
		[
			'an image of a private network',
			part({ type: 'image_url', image_url: { url: 'https://10.0.0.1/a.png' } }),
			'messages[0].content[0].image_url.url',
		],
		[
			'a data URL that is not an image',
			part({ type: 'image_url', image_url: { url: 'data:text/html;base64,aGVs' } }),
			'messages[0].content[0].image_url.url',
		],
		[
			'audio that is not base64',
			part({ type: 'input_audio', input_audio: { data: '?', format: 'wav' } }),
			'messages[0].content[0].input_audio.data',
		],
		['an answer at the end', { messages: [...ask('Hi'), { role: 'assistant', content: 'So' }] }, 'messages[1].role'],
		[
			'a call of a tool of the agent',
			{ messages: [...ask('Hi'), call('echo'), result] },
			'messages[1].tool_calls[0].function.name',
		],
		[
			'a call of read_skill',
			{ messages: [...ask('Hi'), call('read_skill'), result] },
			'messages[1].tool_calls[0].function.name',
		],
		['a result without a call', { messages: [...ask('Hi'), result] }, 'messages[1].tool_call_id'],
		['a result of another call', { messages: [...ask('Hi'), call('x', 'd'), result] }, 'messages[2].tool_call_id'],
		[
			'a call without a result',
			{
				messages: [
					...ask('Hi'),
					{ role: 'assistant', tool_calls: [...call('x').tool_calls, ...call('x', 'd').tool_calls] },
					result,
				],
			},
			'messages[1].tool_calls[1].id',
		],
		[
			'two calls with the same id',
			{
				messages: [
					...ask('Hi'),
					{ role: 'assistant', tool_calls: [...call('x').tool_calls, ...call('x').tool_calls] },
					result,
				],
			},
			'messages[1].tool_calls[1].id',
		],
		[
			'an old function call',
			{ messages: [...ask('Hi'), { role: 'assistant', function_call: { name: 'x', arguments: '' } }, ...ask('Hi')] },
			'messages[1].function_call',
		],
		['a tool with the name of an agent’s tool', tool({ name: 'echo' }), 'tools[1].function.name'],
		['a tool with the name read_skill', tool({ name: 'read_skill' }), 'tools[1].function.name'],
		['two tools with the same name', tool({ name: 'weather' }), 'tools[1].function.name'],
		['a tool with an invalid name', tool({ name: 'a b' }), 'tools[1].function.name'],
		['a tool of another kind', { tools: [{ type: 'custom', custom: { name: 'a' } }] }, 'tools[0].type'],
		['a schema of another type than object', tool({ parameters: { type: 'string' } }), 'tools[1].function.parameters'],
		[
			'a schema with a broken reference',
			tool({ parameters: { type: 'object', $ref: '#/$defs/none' } }),
			'tools[1].function.parameters',
		],
		['a schema that refers to itself', tool({ parameters: { $ref: '#' } }), 'tools[1].function.parameters'],
		['a required call without tools', { tool_choice: 'required' }, 'tool_choice'],
		[
			'a tool_choice of an unknown tool',
			{ tool_choice: { type: 'function', function: { name: 'weather' } } },
			'tool_choice.function.name',
		],
		['several answers', { n: 2 }, 'n'],
		['an answer in XML', { response_format: { type: 'xml' } }, 'response_format.type'],
		['a missing response schema', { response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
		[
			'a response schema with a broken reference',
			{ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { $ref: '#/$defs/none' } } } },
			'response_format.json_schema.schema',
		],
		['a stop sequence for a JSON answer', { response_format: { type: 'json_object' }, stop: '}' }, 'stop'],
		['log probabilities', { logprobs: true }, 'logprobs'],
		[
			'an answer as audio',
			{ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
			'modalities[1]',
		],
		['too many stop sequences', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
		['an empty stop sequence', { stop: '' }, 'stop'],
		['old functions', { functions: [{ name: 'x' }] }, 'functions'],
		['a web search that the agent lacks', { web_search_options: {} }, 'web_search_options'],
		['a limit of 0 tokens', { max_tokens: 0 }, 'max_tokens'],
		['too many messages', { messages: Array(10_001).fill({ role: 'user', content: 'x' }) }, 'messages'],
	];
	test.each(cases)('refuses a request with %s, and names the field', async (_, body, param) => {
		const { requests } = play('Not this.');
		const given = { model, messages: ask('Hi'), ...body };
		const response = await request('/v1/chat/completions', given);
		const { error } = await response.json<{ error: Record<string, string> }>();
		expect([response.status, error.param], error.message).toEqual([400, param]);
		expect(error).toEqual({
			message: expect.stringContaining(param),
			type: 'invalid_request_error',
			param,
			code: 'invalid_request',
		});
		expect(response.headers.get('x-should-retry')).toBe('false');
		expect(requests).toHaveLength(0);
	});

	test('returns errors in OpenAI’s format', async () => {
		for (const [path, method, body, status] of [
			['/v1/chat/completions', 'POST', undefined, 405],
			['/v1/chat/completions', 'PUT', {}, 405],
			['/v1/models', 'POST', {}, 405],
			['/v1/chat/nothing', 'POST', {}, 404],
			['/v1/chat/completions', 'POST', [], 400],
			['/v1/chat/completions', 'POST', { model: 'x'.repeat(5_000_000) }, 413],
		] as const) {
			const response = await request(path, body, {}, method);
			expect(response.status, path).toBe(status);
			expect(await response.json()).toEqual({
				error: {
					message: expect.any(String),
					type: 'invalid_request_error',
					param: expect.toSatisfy((param) => param !== undefined),
					code: expect.any(String),
				},
			});
		}
	});

	test('refuses a session name of 201 characters', async () => {
		expect(await thrown(inSession('x'.repeat(201), ask('Hi')))).toBeInstanceOf(BadRequestError);
	});

	test('accepts 9,999 messages', async () => {
		const { requests } = play('Long.');
		const long = Array.from({ length: 4_999 }, () => [
			...ask('x'),
			{ role: 'assistant' as const, content: 'y' },
		]).flat();
		const { choices } = await completions.create({ model, messages: [...long, ...ask('z')] });
		expect(choices[0]?.message.content).toBe('Long.');
		expect(requests[0]?.messages).toHaveLength(9_999);
	});

	test('accepts odd and very long texts', async () => {
		const odd = ['\ud800', '\u0000', '__proto__', 'x'.repeat(500_000)];
		for (const text of odd) {
			play('Fine.');
			const messages = [
				...ask(text),
				call(text.slice(0, 200), text.slice(0, 200)),
				{ ...result, tool_call_id: text.slice(0, 200), content: text },
			];
			const response = await request(
				'/v1/chat/completions',
				{ model, messages },
				{ 'idempotency-key': `odd-${odd.indexOf(text)}` },
			);
			expect(response.status).toBe(200);
		}
	});
});
