import { SELF } from 'cloudflare:test';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createSession, readHistory, readState, request, restart } from '../../client.ts';
import { play } from '../../script.ts';

const client = new OpenAI({
	apiKey: 'any',
	baseURL: 'http://localhost/v1',
	fetch: (url, init) => SELF.fetch(url, init),
});
const { completions } = client.chat;
const model = 'scripted';
const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Where?' }];
const city = z.object({ city: z.string(), people: z.number() });
const response_format = zodResponseFormat(city, 'city');
const good = '{"city":"Oslo","people":700000}';
const oslo = { city: 'Oslo', people: 700_000 };
const tool = (name: string): ChatCompletionTool => ({
	type: 'function',
	function: { name, parameters: { type: 'object', properties: { at: { type: 'string' } } } },
});
const calls = (...names: readonly string[]) => ({
	toolCalls: names.map((name, index) => ({ id: `c${index}`, name, input: { at: 'Oslo' } })),
});

async function thrown(work: Promise<unknown>): Promise<unknown> {
	return work.then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => error,
	);
}

describe('response_format', () => {
	test('json_schema gives an answer that the client parses', async () => {
		const { requests } = play(good);
		const { choices } = await completions.parse({ model, messages, response_format });
		expect(choices[0]?.message.parsed).toEqual(oslo);
		expect(requests[0]?.options?.outputSchema).toMatchObject({ required: ['city', 'people'] });
	});

	test('json_schema hides an invalid answer, and asks the model for another answer', async () => {
		const { requests } = play('Oslo!', '{"city":"Oslo"}', `\`\`\`json\n${good}\n\`\`\``);
		const { choices } = await completions.parse({ model, messages, response_format });
		expect(choices[0]?.message).toMatchObject({ content: good, parsed: oslo });
		expect(requests).toHaveLength(3);
	});

	test('json_schema streams only the valid answer, without the text before it', async () => {
		play({ text: 'Let me see.', toolCalls: [{ id: 'e', name: 'echo', input: { text: 'x' } }] }, 'Oslo!', good);
		const runner = completions.stream({ model, messages, response_format });
		expect((await runner.finalChatCompletion()).choices[0]?.message).toMatchObject({ content: good, parsed: oslo });
	});

	test('json_schema without a valid answer fails with a status that no client retries', async () => {
		const { requests } = play('a', 'b', 'c', good);
		const error = await thrown(completions.parse({ model, messages, response_format }));
		expect(error).toMatchObject({ status: 406, code: 'invalid_output' });
		expect(requests).toHaveLength(3);
	});

	test('json_object accepts any object', async () => {
		const { requests } = play('[1]', '{"a":1}');
		const { choices } = await completions.create({ model, messages, response_format: { type: 'json_object' } });
		expect(choices[0]?.message.content).toBe('{"a":1}');
		expect(requests[0]?.system).toContain('JSON object');
	});

	test('json_schema without a schema accepts any object', async () => {
		play('{"a":1}');
		const format = { type: 'json_schema' as const, json_schema: { name: 'any' } };
		const { choices } = await completions.create({ model, messages, response_format: format });
		expect(choices[0]?.message.content).toBe('{"a":1}');
	});

	test('does not apply to a turn that calls a tool of the client', async () => {
		play({ text: 'Let me see.', ...calls('weather') }, good);
		const first = await completions.create({ model, messages, response_format, tools: [tool('weather')] });
		expect(first.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } });
	});

	test('gives an error if a tool asks a question or stops the run', async () => {
		play({ toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which one?' } }] });
		const asks = await thrown(completions.parse({ model, messages, response_format }));
		expect(asks).toMatchObject({ status: 406, code: 'awaiting_user', message: expect.stringContaining('Which one?') });
		play({ toolCalls: [{ id: 's', name: 'stop', input: {} }] });
		expect(await thrown(completions.parse({ model, messages, response_format }))).toMatchObject({
			status: 406,
			code: 'halted',
		});
	});

	test('gives finish_reason `length` for an answer that max_tokens cuts off', async () => {
		play({ text: '{"ci', stopReason: 'max_tokens' });
		const { choices } = await completions.create({ model, messages, response_format });
		expect(choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '{"ci' } });
	});

	test('still applies after a crash, and counts the retries before the crash', async () => {
		const { requests } = play('Oslo!', () => new Promise(() => {}), 'Rome!', 'Bern!', good);
		const { response } = await completions.create({ model, messages, response_format, stream: true }).withResponse();
		const id = response.headers.get('runlet-session') ?? '';
		await expect.poll(() => requests.length).toBe(2);
		await restart(id);
		await expect.poll(async () => (await readState(id)).status).toBe('error');
		expect(requests).toHaveLength(4);
		expect((await readHistory(id)).map(({ role }) => role)).toEqual([
			...['user', 'assistant', 'user', 'assistant', 'user', 'assistant'],
		]);
	});
});

test('an answer has a request id and, if known, its cost in dollars', async () => {
	const usage = { inputTokens: 10, outputTokens: 4, costUsd: 0.25 };
	play({ ...{ toolCalls: [{ id: 'e', name: 'echo', input: { text: 'x' } }] }, usage }, { text: 'Fine.', usage }, 'No.');
	const answer = await completions.create({ model, messages });
	expect(answer.usage).toMatchObject({ prompt_tokens: 20, cost: 0.5 });
	expect(answer._request_id).toMatch(/^req_/);
	expect((await completions.create({ model, messages })).usage).not.toHaveProperty('cost');
});

describe('tool_choice: required', () => {
	test('calls a tool of the client, and never a tool of the agent', async () => {
		const { requests } = play(calls('weather'), calls('b'));
		for (const tools of [[tool('weather')], [tool('a'), tool('b')]]) {
			const { choices } = await completions.create({ model, messages, tools, tool_choice: 'required' });
			expect(choices[0]?.finish_reason).toBe('tool_calls');
		}
		expect(requests.map(({ options }) => options?.toolChoice)).toEqual([{ name: 'weather' }, 'required']);
		expect(requests[1]?.tools?.map(({ name }) => name)).toEqual(['a', 'b']);
	});

	const forced = [
		['required', 'required' as const, [tool('a'), tool('b')]],
		['a named tool', { type: 'function' as const, function: { name: 'a' } }, [tool('a'), tool('b')]],
	] as const;
	test.each(forced)('asks the model once more if its answer has no tool call: %s', async (_, tool_choice, tools) => {
		const { requests } = play('It may rain.', calls('a'));
		const { choices } = await completions.create({ model, messages, tools: [...tools], tool_choice });
		expect(choices[0]).toMatchObject({
			finish_reason: 'tool_calls',
			message: { tool_calls: [{ function: { name: 'a' } }] },
		});
		const choice = tool_choice === 'required' ? 'required' : { name: 'a' };
		expect(requests.map(({ options }) => options?.toolChoice)).toEqual([choice, choice]);
		expect(requests[1]?.messages.at(-1)).toMatchObject({
			role: 'user',
			content: expect.stringMatching(/^You have to call a tool now/),
		});
	});

	test('gives a non-retryable error after two answers without a tool call', async () => {
		const { requests } = play('One.', 'Two.', 'Three.', 'Four.');
		const about = { model, messages, tools: [tool('a'), tool('b')], tool_choice: 'required' as const };
		const refused = { code: 'invalid_output', message: expect.stringContaining('had to call one of a, b') };
		await expect(completions.create(about)).rejects.toMatchObject({ ...refused, status: 406 });
		const stream = await completions.create({ ...about, stream: true });
		await expect(Array.fromAsync(stream)).rejects.toMatchObject(refused);
		expect(requests).toHaveLength(4);
	});

	test('does not ask the model again after a cut-off answer', async () => {
		const { requests } = play({ text: 'It may', stopReason: 'max_tokens' });
		const { choices } = await completions.create({ model, messages, tools: [tool('a')], tool_choice: 'required' });
		expect([choices[0]?.finish_reason, requests.length]).toEqual(['length', 1]);
	});

	test('does not apply to a request that has the result of the call', async () => {
		const { requests } = play('It rains.');
		const call = { id: 'c', type: 'function' as const, function: { name: 'a', arguments: '{}' } };
		const answered: ChatCompletionMessageParam[] = [
			...messages,
			{ role: 'assistant', tool_calls: [call] },
			{ role: 'tool', tool_call_id: 'c', content: 'rain' },
		];
		await completions.create({ model, messages: answered, tools: [tool('a'), tool('b')], tool_choice: 'required' });
		expect(requests[0]?.options?.toolChoice).toBe('auto');
		expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(expect.arrayContaining(['a', 'b', 'echo']));
	});

	test('does not apply when the model is asked again for valid JSON after the call’s result', async () => {
		const { requests } = play('no JSON', good);
		const call = { id: 'c', type: 'function' as const, function: { name: 'a', arguments: '{}' } };
		const answered: ChatCompletionMessageParam[] = [
			...messages,
			{ role: 'assistant', tool_calls: [call] },
			{ role: 'tool', tool_call_id: 'c', content: 'rain' },
		];
		const tools = [tool('a'), tool('b')];
		await completions.create({ model, messages: answered, tools, tool_choice: 'required', response_format });
		expect(requests.map(({ options }) => options?.toolChoice)).toEqual(['auto', 'auto']);
	});
});

describe('parallel_tool_calls: false', () => {
	test('sends one call to the client, and gives the model errors for the other calls', async () => {
		const { requests } = play(calls('a', 'b'), 'Fine.');
		const given = { model, messages, tools: [tool('a'), tool('b')], parallel_tool_calls: false };
		const headers = { 'Runlet-Session': 'one call at a time' };
		const { choices } = await completions.create(given, { headers });
		expect(choices[0]?.message.tool_calls).toMatchObject([{ id: 'c0', function: { name: 'a' } }]);
		expect(requests[0]?.options?.parallelToolCalls).toBe(false);
		const result: ChatCompletionMessageParam = { role: 'tool', tool_call_id: 'c0', content: 'done' };
		await completions.create({ ...given, messages: [result] }, { headers });
		expect(requests[1]?.messages.slice(-2)).toMatchObject([
			{ toolCallId: 'c0', content: 'done' },
			{ toolCallId: 'c1', isError: true, content: expect.stringContaining('one call at a time') },
		]);
	});

	test('does not apply to the agent’s own tools', async () => {
		const own = ['x', 'y'].map((text) => ({ id: text, name: 'echo', input: { text } }));
		const { requests } = play({ toolCalls: own }, 'Fine.');
		await completions.create({ model, messages, tools: [tool('a')], parallel_tool_calls: false });
		expect(requests[1]?.messages.slice(-2)).toMatchObject([{ content: 'x' }, { content: 'y' }]);
	});
});

describe('stop', () => {
	test.each([
		['One two three', ['two'], 'One '],
		['One two three', ['three', ' two'], 'One'],
		['One two three', ['four'], 'One two three'],
		['One two', ['two three'], 'One two'],
	])('with the text %j, %j gives %j, both whole and streamed', async (text, stop, expected) => {
		const deltas = [...text].map((one) => ({ type: 'text' as const, text: one }));
		play({ text, deltas }, { text, deltas });
		const { choices } = await completions.create({ model, messages, stop });
		expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: expected } });
		const streamed = await completions.stream({ model, messages, stop }).finalChatCompletion();
		expect(streamed.choices[0]?.message.content).toBe(expected);
	});
});

describe('a model of an agent', () => {
	test('is listed, found and used as agent:model', async () => {
		const names = (await Array.fromAsync(client.models.list())).map(({ id }) => id);
		expect(names).toEqual(expect.arrayContaining(['scripted', 'scripted:demo', 'scripted:scripted-unpriced']));
		expect((await client.models.retrieve('scripted:demo')).id).toBe('scripted:demo');
		const { requests } = play('Fine.');
		const answer = await completions.create({ model: 'scripted:scripted-unpriced', messages });
		expect(answer.model).toBe('scripted:scripted-unpriced');
		expect(requests[0]?.model).toBe('scripted-unpriced');
	});

	test('that does not exist is refused with a list of the possible models', async () => {
		const { requests } = play('Not this.');
		for (const name of ['scripted:gpt-5', 'scripted:', 'plain:scripted']) {
			const error = await thrown(completions.create({ model: name, messages }));
			expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
		}
		expect(await thrown(completions.create({ model: 'scripted:gpt-5', messages }))).toMatchObject({
			message: expect.stringContaining('scripted:demo'),
		});
		expect(await thrown(client.models.retrieve('scripted:gpt-5'))).toMatchObject({ status: 404 });
		expect(requests).toHaveLength(0);
	});

	test('stays in use after a page chose it, and a post with an unknown model creates no session', async () => {
		const { requests } = play('One.', 'Two.', 'Three.');
		const post = (text: string, id: string, more: object) => {
			const message = { id: `${id} ${text}`, role: 'user', parts: [{ type: 'text', text }] };
			return request('/v1/ui/scripted', { id, messages: [message], ...more }).then((response) =>
				response.text().then((body) => ({ status: response.status, body })),
			);
		};
		await post('1', 'chooses', { model: 'scripted-unpriced' });
		await post('2', 'chooses', {});
		await post('3', 'chooses', { model: 'scripted' });
		expect(requests.map((sent) => sent.model)).toEqual(['scripted-unpriced', 'scripted-unpriced', 'scripted']);
		const refused = await post('1', 'mistakes', { model: 'gpt-5' });
		expect(refused).toMatchObject({ status: 400, body: expect.stringContaining('scripted, demo, scripted-unpriced') });
		const shown = await request('/v1/ui/scripted/mistakes/messages');
		expect(await shown.json()).toEqual({ messages: [] });
	});

	test('can be chosen by a page for a session that the API created', async () => {
		const { requests } = play('One.');
		const id = await createSession();
		const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
		await (await request('/v1/ui/scripted', { id, messages: [message], model: 'scripted-unpriced' })).text();
		expect(requests[0]?.model).toBe('scripted-unpriced');
	});
});
