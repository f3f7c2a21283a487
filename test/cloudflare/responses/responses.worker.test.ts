import { SELF } from 'cloudflare:test';
import OpenAI, { APIError, BadRequestError, NotFoundError } from 'openai';
import type { ResponseCreateParamsNonStreaming, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import { readObject, readState, request, restart } from '../../client.ts';
import codex from '../../fixtures/clients/codex.json' with { type: 'json' };
import { play } from '../../script.ts';

const client = new OpenAI({
	apiKey: 'any',
	baseURL: 'http://localhost/v1',
	fetch: (url, init) => SELF.fetch(url, init),
	maxRetries: 0,
});

const model = 'scripted';
type Body = Partial<ResponseCreateParamsNonStreaming>;
const create = (body: Body) => client.responses.create({ model, input: 'Go', ...body });
const stream = async (body: Body) =>
	Array.fromAsync(await client.responses.create({ model, input: 'Go', ...body, stream: true }));
const follow = async (id: string, starting_after?: number) =>
	Array.fromAsync(await client.responses.retrieve(id, { stream: true, starting_after }));

const echo = { id: 'e', name: 'echo', input: { text: 'x' } };
const pay = { id: 'p', name: 'pay', input: { amount: 3 } };
const weatherCall = { id: 'w1', name: 'weather', input: { at: 'Oslo' } };
const weather = {
	type: 'function' as const,
	name: 'weather',
	description: 'The weather.',
	strict: false,
	parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
};
const usage = { inputTokens: 10, outputTokens: 4, cachedInputTokens: 3, reasoningTokens: 2 };

const toSession = (id: string) => id.slice('resp_'.length, 'resp_'.length + 64);
const toKinds = ({ output }: { readonly output: readonly { readonly type: string }[] }) =>
	output.map(({ type }) => type);
const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
	Promise.resolve(work).then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => error,
	);

/** Returns the events without texts that differ by their cuts: whole texts, and the numbers of all other events. */
function joinTexts(events: readonly ResponseStreamEvent[]) {
	const isText = ({ type }: ResponseStreamEvent) => type.endsWith('_text.delta');
	const texts = events.filter(isText).map((event) => ('delta' in event ? event.delta : ''));
	// A live stream reads the clock for the time of the end, so it can differ by a second.
	const others = events.map((event) =>
		event.type === 'response.completed' ? { ...event, response: { ...event.response, completed_at: 0 } } : event,
	);
	return { text: texts.join(''), others: others.filter((event) => !isText(event)) };
}

describe('a response', () => {
	test('has the texts, the thinking, the agent’s own calls and the usage of its run', async () => {
		play({ text: 'Let me see.', reasoning: 'Hm.', toolCalls: [echo], usage }, { text: 'It is x.', usage });
		const response = await create({ metadata: { order: '7' }, instructions: 'Be brief.' });
		expect(response).toMatchObject({
			id: expect.stringMatching(/^resp_[0-9a-f]{64}1$/),
			object: 'response',
			status: 'completed',
			model,
			metadata: { order: '7' },
			instructions: 'Be brief.',
			error: null,
			usage: {
				input_tokens: 20,
				input_tokens_details: { cached_tokens: 6 },
				output_tokens: 8,
				output_tokens_details: { reasoning_tokens: 4 },
				total_tokens: 28,
			},
		});
		expect(toKinds(response)).toEqual(['reasoning', 'message', 'mcp_call', 'message']);
		expect(response.output[2]).toMatchObject({ server_label: model, name: 'echo', output: 'x', status: 'completed' });
		expect(response.output_text).toBe('Let me see.It is x.');
	});

	test('has every field that Open Responses requires', async () => {
		play('Hello.');
		const required =
			'id object created_at completed_at status incomplete_details model previous_response_id instructions output error ' +
			'tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty top_logprobs ' +
			'temperature reasoning user usage max_output_tokens max_tool_calls store background service_tier metadata ' +
			'safety_identifier prompt_cache_key';
		const response = await create({ tools: [weather] });
		expect(Object.keys(response)).toEqual(expect.arrayContaining(required.split(' ')));
		expect(response.output).toEqual([
			{
				type: 'message',
				id: expect.any(String),
				status: 'completed',
				role: 'assistant',
				content: [{ type: 'output_text', text: 'Hello.', annotations: [], logprobs: [] }],
			},
		]);
	});

	test('is the same as JSON, in the last event of its stream, and when it is retrieved', async () => {
		play({ text: 'Let me see.', reasoning: 'Hm.', toolCalls: [echo] }, 'It is x.');
		const events = await stream({});
		const last = events.at(-1);
		if (last?.type !== 'response.completed') throw new Error(`ended with ${last?.type}`);
		expect(last.response.output).toHaveLength(4);
		const { output_text: _, ...retrieved } = await client.responses.retrieve(last.response.id);
		expect(retrieved).toEqual({ ...last.response, completed_at: expect.any(Number) });
		const items = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
		expect(items).toEqual(last.response.output);
	});

	test('has the same events later, also where the model thought again after it wrote text', async () => {
		const deltas = [
			{ type: 'reasoning' as const, text: 'First.' },
			{ type: 'text' as const, text: 'One, ' },
			{ type: 'reasoning' as const, text: 'Then.' },
			{ type: 'text' as const, text: 'two.' },
		];
		play({ deltas, toolCalls: [echo] }, 'It is x.');
		const events = await stream({});
		const [created] = events;
		if (created?.type !== 'response.created') throw new Error('no response');
		const { id } = created.response;
		expect(toKinds(await client.responses.retrieve(id))).toEqual([
			'reasoning',
			'message',
			'reasoning',
			'message',
			'mcp_call',
			'message',
		]);
		await restart(toSession(id));
		expect(joinTexts(await follow(id))).toEqual(joinTexts(events));
		for (const seen of [0, 5, 9, 20, 30])
			expect(joinTexts(await follow(id, seen)).others).toEqual(
				joinTexts(events.filter(({ sequence_number: number }) => number > seen)).others,
			);
	});

	test('goes on behind a number while the model is writing', async () => {
		const going = Promise.withResolvers<void>();
		play(async (_, onDelta) => {
			await onDelta({ type: 'text', text: 'Hello ' });
			await going.promise;
			await onDelta({ type: 'text', text: 'there.' });
			return {};
		});
		const { id, status } = await create({ background: true });
		expect(status).toBe('in_progress');
		const events = await client.responses.retrieve(id, { stream: true, starting_after: 5 });
		const rest: ResponseStreamEvent[] = [];
		for await (const event of events) {
			rest.push(event);
			going.resolve();
		}
		const { text, others } = joinTexts(rest);
		expect(text).toBe('llo there.');
		expect(others.at(-1)?.type).toBe('response.completed');
		expect((await client.responses.retrieve(id)).output_text).toBe('Hello there.');
	});

	test('is incomplete if the model reached its limit', async () => {
		play({ text: 'One, two', stopReason: 'max_tokens' });
		const response = await create({ max_output_tokens: 20 });
		expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
	});

	test('lists the input of its run', async () => {
		play('Hello.', 'Again.');
		const first = await create({ instructions: 'Be brief.' });
		const second = await create({ input: 'More', previous_response_id: first.id });
		const list = async (id: string) => (await client.responses.inputItems.list(id, { order: 'asc' })).data;
		expect(await list(first.id)).toMatchObject([
			{ type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
			{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] },
		]);
		expect(await list(second.id)).toMatchObject([{ role: 'user', content: [{ text: 'More' }] }]);
	});

	test('survives a restart of its session, in the stream and as JSON', async () => {
		for (const streams of [false, true]) {
			const { requests } = play(() => new Promise(() => {}), 'Here.');
			const { id } = await create({ background: true });
			await expect.poll(() => requests.length).toBe(1);
			const read = streams ? Array.fromAsync(await client.responses.retrieve(id, { stream: true })) : undefined;
			await restart(toSession(id));
			await expect.poll(async () => (await client.responses.retrieve(id)).status).toBe('completed');
			if (read !== undefined) expect(joinTexts(await read)).toMatchObject({ text: 'Here.' });
			expect((await client.responses.retrieve(id)).output_text).toBe('Here.');
		}
	});
});

describe('a conversation', () => {
	test('goes on after its newest response, and after an earlier one in a copy', async () => {
		const { requests } = play('One.', 'Two.', 'Other two.', 'Other three.');
		const one = await create({ input: 'a' });
		const two = await create({ input: 'b', previous_response_id: one.id });
		const other = await create({ input: 'c', previous_response_id: one.id });
		expect(toSession(two.id)).toBe(toSession(one.id));
		expect(toSession(other.id)).not.toBe(toSession(one.id));
		await create({ input: 'd', previous_response_id: other.id });
		const texts = requests.map(({ messages }) => messages.map(({ content }) => content));
		expect(texts.slice(2)).toEqual([
			['a', 'One.', 'c'],
			['a', 'One.', 'c', 'Other two.', 'd'],
		]);
		expect((await client.responses.retrieve(two.id)).output_text).toBe('Two.');
		const foreign = await thrown(create({ model: 'fleeting', previous_response_id: one.id }));
		expect(foreign).toMatchObject({ status: 400, param: 'model' });
	});

	test('goes on where the newest output item of the input belongs to, and has the items before', async () => {
		const { requests } = play('One.', 'Two.');
		const one = await create({ input: 'a' });
		const [said] = one.output;
		if (said?.type !== 'message') throw new Error('no message');
		const two = await create({
			input: [{ role: 'user', content: 'a' }, said, { role: 'user', content: 'b' }],
		});
		expect(toSession(two.id)).toBe(toSession(one.id));
		expect(requests[1]?.messages.map(({ content }) => content)).toEqual(['a', 'One.', 'b']);
	});

	test('is a new session with the items of the input as its history if they have no ids', async () => {
		const { requests } = play('Two.');
		const input = [
			{ role: 'user' as const, content: 'a' },
			{ role: 'assistant' as const, content: 'One.' },
			{ role: 'user' as const, content: 'b' },
		];
		await create({ input });
		expect(requests[0]?.messages.map(({ content }) => content)).toEqual(['a', 'One.', 'b']);
	});

	test('begins with its first response, keeps all responses, and lists all items', async () => {
		const { requests } = play('One.', 'Two.');
		const { id } = await client.conversations.create({});
		const one = await create({ input: 'a', conversation: id });
		const two = await create({ input: 'b', conversation: { id } });
		expect([one, two].map((response) => response.conversation)).toEqual([{ id }, { id }]);
		expect(requests[1]?.messages.map(({ content }) => content)).toEqual(['a', 'One.', 'b']);
		const items = await Array.fromAsync(client.conversations.items.list(id, { limit: 3, order: 'asc' }));
		expect(items).toMatchObject([
			{ role: 'user', content: [{ text: 'a' }] },
			{ role: 'assistant', content: [{ text: 'One.' }] },
			{ role: 'user', content: [{ text: 'b' }] },
			{ role: 'assistant', content: [{ text: 'Two.' }] },
		]);
		expect(await client.conversations.delete(id)).toMatchObject({ id, deleted: true });
		expect(await thrown(client.responses.retrieve(one.id))).toBeInstanceOf(NotFoundError);
	});

	test('has an agent, metadata and a history from the beginning if its metadata names the agent', async () => {
		const { requests } = play('Two.');
		const metadata = { agent: model, order: '7' };
		const items = [
			{ type: 'message' as const, role: 'user' as const, content: 'a' },
			{ type: 'message' as const, role: 'assistant' as const, content: 'One.' },
		];
		const { id } = await client.conversations.create({ metadata, items });
		expect(await client.conversations.retrieve(id)).toMatchObject({ id, metadata });
		await create({ input: 'b', conversation: id });
		expect(requests[0]?.messages.map(({ content }) => content)).toEqual(['a', 'One.', 'b']);
		const refused = await thrown(client.conversations.create({ items }));
		expect(refused).toMatchObject({ status: 400, param: 'metadata.agent' });
	});
});

describe('a response that is not stored', () => {
	test('cannot be retrieved, and its session is removed an hour after its last activity', async () => {
		play('One.', 'Two.');
		const { data, response } = await client.responses.create({ model, input: 'Go', store: false }).withResponse();
		const session = response.headers.get('runlet-session') ?? '';
		expect(toSession(data.id)).toBe(session);
		expect(await thrown(client.responses.retrieve(data.id))).toBeInstanceOf(NotFoundError);
		expect(await thrown(create({ previous_response_id: data.id }))).toBeInstanceOf(NotFoundError);
		const exported = await (await request(`/v1/sessions/${session}/export`)).json<{
			session: { expiresAfterMs: number };
		}>();
		expect(exported.session.expiresAfterMs).toBe(3_600_000);
		const stored = await create({});
		const { session: kept } = await (await request(`/v1/sessions/${toSession(stored.id)}/export`)).json<{
			session: { expiresAfterMs?: number };
		}>();
		expect(kept.expiresAfterMs).toBeUndefined();
	});

	test('can be part of a history that the client sends whole, with calls of its tools', async () => {
		const { requests } = play({ toolCalls: [weatherCall] }, 'Rain.');
		const ask = { role: 'user' as const, content: 'Weather?' };
		const first = await create({ input: [ask], tools: [weather], store: false });
		const output = { type: 'function_call_output' as const, call_id: 'w1', output: 'rain' };
		const calls = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
		const second = await create({ input: [ask, ...calls, output], tools: [weather], store: false });
		expect(second.output_text).toBe('Rain.');
		expect(toSession(second.id)).not.toBe(toSession(first.id));
		expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'rain', toolCallId: 'w1' });
	});

	test('cannot run in the background', async () => {
		const refused = await thrown(create({ store: false, background: true }));
		expect(refused).toMatchObject({ status: 400, param: 'background' });
	});
});

describe('a run that waits', () => {
	test('for a tool of the client shows the call, and takes its result', async () => {
		const { requests } = play({ toolCalls: [weatherCall] }, 'Rain.');
		const events = await stream({ tools: [weather] });
		const first = events.at(-1);
		if (first?.type !== 'response.completed') throw new Error('not completed');
		expect(first.response.output).toMatchObject([
			{
				type: 'function_call',
				call_id: `call_${toSession(first.response.id)}_w1`,
				name: 'weather',
				arguments: '{"at":"Oslo"}',
				status: 'completed',
			},
		]);
		const [asked] = first.response.output;
		if (asked?.type !== 'function_call') throw new Error('no call');
		const input = [{ type: 'function_call_output' as const, call_id: asked.call_id, output: 'rain' }];
		const { output_text } = await create({ input, tools: [weather] });
		expect(output_text).toBe('Rain.');
		expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'rain' });
	});

	test('for an approval asks for it, and goes on with the decision', async () => {
		for (const approve of [true, false]) {
			const { requests } = play({ text: 'I pay.', toolCalls: [echo, pay] }, 'Done.');
			const first = await create({});
			expect(toKinds(first)).toEqual(['message', 'mcp_call', 'mcp_approval_request']);
			const asked = first.output[2];
			if (asked?.type !== 'mcp_approval_request') throw new Error('no request');
			expect(asked).toMatchObject({ name: 'pay', arguments: '{"amount":3}', server_label: model });
			const decision = {
				type: 'mcp_approval_response' as const,
				approval_request_id: asked.id,
				approve,
				reason: 'Because.',
			};
			const second = await create({ input: [decision], previous_response_id: first.id, metadata: { decided: 'yes' } });
			expect(second.metadata).toEqual({ decided: 'yes' });
			expect(toKinds(second)).toEqual(approve ? ['mcp_call', 'message'] : ['message']);
			if (approve) expect(second.output[0]).toMatchObject({ name: 'pay', approval_request_id: asked.id });
			else expect(JSON.stringify(requests[1]?.messages)).toContain('Because.');
			const late = await thrown(create({ input: [decision], previous_response_id: second.id }));
			expect(late).toBeInstanceOf(APIError);
		}
	});

	test('for an approval takes the decision without previous_response_id, as it names its session', async () => {
		play({ toolCalls: [pay] }, 'Paid.');
		const first = await create({ store: false });
		const [asked] = first.output;
		if (asked?.type !== 'mcp_approval_request') throw new Error('no request');
		const decision = { type: 'mcp_approval_response' as const, approval_request_id: asked.id, approve: true };
		const second = await create({ input: [{ role: 'user', content: 'Go' }, asked, decision], store: false });
		expect(second.output_text).toBe('Paid.');
		expect(toSession(second.id)).toBe(toSession(first.id));
	});

	test('with a question asks it as a message, and the next message answers it', async () => {
		const { requests } = play({ toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which?' } }] }, 'That one.');
		const first = await create({});
		expect([first.status, first.output_text]).toEqual(['completed', 'Which?']);
		const second = await create({ input: 'The blue one', previous_response_id: first.id });
		expect(second.output_text).toBe('That one.');
		expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'The blue one' });
	});
});

describe('a structured answer', () => {
	const format = {
		type: 'json_schema' as const,
		name: 'city',
		schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
	};

	test('is only the checked JSON, in one piece', async () => {
		const turns = [{ text: 'Let me see.', toolCalls: [echo] }, 'Oslo!', '```json\n{"city":"Oslo"}\n```'];
		play(...turns);
		const response = await create({ text: { format } });
		expect(response.output_text).toBe('{"city":"Oslo"}');
		expect(toKinds(response)).toEqual(['mcp_call', 'message']);
		play(...turns);
		const events = await stream({ text: { format } });
		expect(joinTexts(events).text).toBe('{"city":"Oslo"}');
	});

	test('keeps its schema after an approval', async () => {
		play({ toolCalls: [pay] }, 'Paid!', '{"city":"Oslo"}');
		const first = await create({ text: { format } });
		const [asked] = first.output;
		if (asked?.type !== 'mcp_approval_request') throw new Error('no request');
		const decision = { type: 'mcp_approval_response' as const, approval_request_id: asked.id, approve: true };
		const second = await create({ input: [decision], text: { format } });
		expect(second.output_text).toBe('{"city":"Oslo"}');
	});
});

describe('cancel and delete', () => {
	test('cancel ends a run in the background, and leaves a response that has ended', async () => {
		const { requests } = play(() => new Promise(() => {}));
		const { id } = await create({ background: true });
		await expect.poll(() => requests.length).toBe(1);
		const events = follow(id);
		expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
		expect((await events).at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'cancelled' } });
		expect(await client.responses.cancel(id)).toMatchObject({ status: 'cancelled' });
		play('One.');
		const ended = await create({});
		expect(await client.responses.cancel(ended.id)).toMatchObject({ status: 'completed' });
	});

	test('delete removes the session of a single response, and refuses one of a conversation', async () => {
		play('One.', 'Two.', 'Three.');
		const single = await create({});
		await client.responses.delete(single.id);
		expect(await thrown(client.responses.retrieve(single.id))).toBeInstanceOf(NotFoundError);
		const one = await create({});
		const two = await create({ previous_response_id: one.id });
		for (const { id } of [one, two])
			expect(await thrown(client.responses.delete(id))).toMatchObject({
				status: 409,
				message: expect.stringContaining(`/v1/conversations/conv_${toSession(one.id)}`),
			});
	});
});

describe('a failure', () => {
	test('of a run is an error of OpenAI that no client repeats, and is kept with the response', async () => {
		play(new Error('broken'));
		const error = await thrown(client.responses.create({ model, input: 'Go' }, { maxRetries: 2 }));
		expect(error).toMatchObject({ status: 406 });
		play(new Error('broken'));
		const events = await stream({});
		expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed', error: {} } });
		const [created] = events;
		if (created?.type !== 'response.created') throw new Error('no response');
		expect(await client.responses.retrieve(created.response.id)).toMatchObject({ status: 'failed' });
	});

	test('names the field of the request', async () => {
		const cases: readonly (readonly [Record<string, unknown>, number, string])[] = [
			[{ model: 'nobody' }, 404, 'model'],
			[{ input: [] }, 400, 'input'],
			[{ input: [{ role: 'user', content: '' }] }, 400, 'input[0].content'],
			[{ input: [{ type: 'function_call_output', call_id: 'x', output: 'y' }] }, 400, 'input[0].call_id'],
			[{ tools: [{ type: 'file_search' }] }, 400, 'tools[0].type'],
			[{ tools: [{ type: 'web_search' }] }, 400, 'tools[0]'],
			[{ tools: [{ ...weather, name: 'echo' }] }, 400, 'tools[0].name'],
			[{ tool_choice: { type: 'function', name: 'weather' } }, 400, 'tool_choice.name'],
			[
				{ text: { format: { type: 'json_schema', name: 'x', schema: { type: 'nothing' } } } },
				400,
				'text.format.schema',
			],
			[{ prompt: { id: 'p' } }, 400, 'prompt'],
			[{ max_tool_calls: 3 }, 400, 'max_tool_calls'],
			[{ previous_response_id: 'resp_1' }, 404, 'previous_response_id'],
			[{ previous_response_id: `resp_${'0'.repeat(64)}1` }, 404, 'previous_response_id'],
			[{ conversation: 'conv_1' }, 404, 'conversation'],
			[{ conversation: 'conv_1', previous_response_id: 'resp_1' }, 400, 'previous_response_id'],
			[
				{
					input: [
						{ type: 'item_reference', id: 'msg_1' },
						{ role: 'user', content: 'a' },
					],
				},
				400,
				'input[0].id',
			],
			[{ input: [{ type: 'input_image' }] }, 400, 'input[0].type'],
		];
		for (const [body, status, param] of cases) {
			const response = await request('/v1/responses', { model, input: 'Go', ...body });
			const { error } = await response.json<{ error: { param: string; message: string } }>();
			expect([response.status, error.param], JSON.stringify([body, error])).toEqual([status, param]);
		}
	});

	test('of a request during a run is a conflict', async () => {
		const going = Promise.withResolvers<string>();
		play(() => going.promise);
		const { id } = await create({ background: true });
		const busy = await thrown(create({ previous_response_id: id }));
		expect(busy).toMatchObject({ status: 409 });
		going.resolve('Done.');
		await expect.poll(async () => (await client.responses.retrieve(id)).status).toBe('completed');
	});

	test('of a request that goes on after a run is a conflict if another run began meanwhile', async () => {
		play('One.', 'Not this.');
		const { id } = await create({});
		const input = { text: 'More', transport: 'responses' };
		const update = { agent: model, input, results: [], clientTools: [], after: 7 };
		const caller = { owner: 'local', role: 'admin' } as const;
		const answer = await readObject(toSession(id)).converse(caller, update, { delivery: 'accepted' });
		expect(JSON.stringify(answer)).toContain('the session went on meanwhile');
	});

	test('is an error of OpenAI on unknown paths', async () => {
		expect(await thrown(client.responses.retrieve('resp_x'))).toBeInstanceOf(NotFoundError);
		expect(await thrown(client.conversations.retrieve('conv_x'))).toBeInstanceOf(NotFoundError);
		expect(await thrown(client.get('/responses/x/y'))).toBeInstanceOf(NotFoundError);
		const bad = await thrown(client.responses.retrieve('resp_x', { starting_after: 3, stream: undefined }));
		expect(bad).toBeInstanceOf(NotFoundError);
	});
});

test('a call of a function in a namespace, as Codex has them, names the namespace', async () => {
	const { requests } = play({ toolCalls: [{ id: 'c1', name: 'close_agent', input: { target: 'x' } }] });
	const response = await request('/v1/responses', { ...codex, model, stream: false, client_metadata: undefined });
	const { output, tools } = await response.json<{ output: unknown; tools: unknown }>();
	expect(output).toMatchObject([
		{ type: 'function_call', name: 'close_agent', namespace: 'multi_agent_v1', arguments: '{"target":"x"}' },
	]);
	expect(tools).toMatchObject(codex.tools);
	expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(
		expect.arrayContaining(['exec_command', 'close_agent', 'get_goal']),
	);
});

describe('a repeated create', () => {
	const post = (body: object, headers: Record<string, string>) => request('/v1/responses', { model, ...body }, headers);
	const toId = async (response: Response) => (await response.json<{ id: string }>()).id;

	test('with an Idempotency-Key gets the same response', async () => {
		const { requests } = play('One.', 'Not this.');
		const headers = { 'idempotency-key': 'responses-once' };
		const first = await post({ input: 'Go' }, headers);
		const again = await post({ input: 'Go' }, headers);
		expect(await toId(again)).toBe(await toId(first));
		expect(again.headers.get('idempotent-replayed')).toBe('true');
		expect(requests).toHaveLength(1);
	});

	test('by Codex, which does not say so, gets the same response, also of a failed run', async () => {
		const { requests } = play({ toolCalls: [echo] }, new Error('broken'), 'New.', 'Not this.');
		const { turn_id, ...rest } = codex.client_metadata;
		const first = await (await post({ ...codex, model }, {})).text();
		const again = await post({ ...codex, model, client_metadata: { turn_id, ...rest } }, {});
		expect(await again.text()).toBe(first);
		expect(first).toContain('response.failed');
		expect(requests).toHaveLength(2);
		const next = await post({ ...codex, model, client_metadata: { turn_id: 'next' } }, {});
		expect(await next.text()).toContain('New.');
	});

	test('by the package openai gets the same response, in a new session, an old one and a copy', async () => {
		const { requests } = play('One.', 'Two.', 'Other.', 'Not this.');
		const twice = async (body: object) => {
			const first = await toId(await post(body, { 'x-stainless-retry-count': '0' }));
			expect(await toId(await post(body, { 'x-stainless-retry-count': '1' }))).toBe(first);
			return first;
		};
		const one = await twice({ input: 'responses a' });
		await twice({ input: 'responses b', previous_response_id: one });
		const copy = await twice({ input: 'responses c', previous_response_id: one });
		expect(toSession(copy)).not.toBe(toSession(one));
		expect(requests).toHaveLength(3);
	});
});

test('the person whom user names has the session, and nobody else goes on in it', async () => {
	play('One.');
	const { id } = await create({ user: 'ada' });
	expect(await readState(toSession(id))).toMatchObject({ status: 'completed', user: 'ada' });
	expect(await thrown(create({ previous_response_id: id, user: 'ben' }))).toBeInstanceOf(BadRequestError);
});
