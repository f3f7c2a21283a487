import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { chat, tool } from '../../../src/core/index.ts';
import { calling, echo, echoCall, fail, finish, only } from './support.ts';

const city = {
	type: 'object',
	properties: { city: { type: 'string' }, people: { type: 'integer' } },
	required: ['city', 'people'],
	additionalProperties: false,
};
const good = '{"city":"Oslo","people":700000}';
const oslo = { city: 'Oslo', people: 700_000 };
const schema = { outputSchema: city };

describe('a reply with an outputSchema', () => {
	test('becomes the output of the result, and its text stays unchanged', async () => {
		const { result, requests } = await finish([good], schema);
		expect(result).toMatchObject({ status: 'completed', text: good, output: oslo });
		expect(requests[0]?.options?.outputSchema).toEqual(city);
	});

	test('can be in a code fence with spaces around it', async () => {
		for (const text of [`\n \`\`\`json\n${good}\n\`\`\`\n`, `\`\`\`\n${good}\n\`\`\``, `\n${good} `])
			expect((await finish([text], schema)).result.output).toEqual(oslo);
	});

	test('is transformed by the schema', async () => {
		const outputSchema = v.object({ city: v.pipe(v.string(), v.toUpperCase()) });
		expect((await finish(['{"city":"Oslo"}'], { outputSchema })).result.output).toEqual({ city: 'OSLO' });
	});

	test('that does not fit the schema is requested again with a list of its mistakes', async () => {
		const { result, requests, events } = await finish(['Oslo!', '{"city":"Oslo","people":"many"}', good], schema);
		expect(result.output).toEqual(oslo);
		expect(requests.map(({ messages }) => messages.at(-1)?.content)).toEqual([
			'Hello',
			expect.stringContaining('not JSON'),
			expect.stringContaining('people'),
		]);
		expect(result.messages.map(({ role }) => role)).toEqual([
			'user',
			'assistant',
			'user',
			'assistant',
			'user',
			'assistant',
		]);
		expect(only(events, 'done')).toMatchObject([{ text: good }]);
		expect(only(events, 'step')).toHaveLength(3);
	});

	test('is requested again at most twice; then the run fails with the mistakes', async () => {
		const { error, requests } = await fail(['a', 'b', 'c', good], schema);
		expect(requests).toHaveLength(3);
		expect(error).toMatchObject({ code: 'invalid_output', data: { issues: ['it is not JSON'] } });
	});

	test('is requested again at most twice in total, even if the run is continued in between', async () => {
		const { result } = await finish(['a', 'b', good], schema);
		const { error, requests } = await fail(['c', good], schema, result.messages.slice(0, 5));
		expect([error.code, requests.length]).toEqual(['invalid_output', 1]);
	});

	test('is requested again up to twice for each user message', async () => {
		const { result } = await finish(['a', 'b', good], schema);
		const next = [...result.messages, chat.userMessage('And now?')];
		expect((await finish(['a', 'b', good], schema, next)).result.output).toEqual(oslo);
	});

	test('has the usage of all its attempts in the result', async () => {
		const usage = { inputTokens: 10, outputTokens: 5 };
		const { result } = await finish(
			[
				{ text: 'a', usage },
				{ text: good, usage },
			],
			schema,
		);
		expect(result.usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
	});

	test('is not requested again beyond maxIterations', async () => {
		const { error } = await fail(['a', good], { ...schema, maxIterations: 1 });
		expect(error.code).toBe('max_iterations');
	});

	test('is checked only when a turn calls no tools', async () => {
		const turns = [{ text: 'Let me see.', ...calling(echoCall('a')) }, good];
		const { result } = await finish(turns, { ...schema, tools: [echo] });
		expect(result.output).toEqual(oslo);
	});

	test.each(['max_tokens', 'refusal'])('that ends with %s keeps its text but has no output', async (stopReason) => {
		const { result } = await finish([{ text: '{"ci', stopReason }], schema);
		expect(result).toMatchObject({ status: 'completed', text: '{"ci', metadata: { stopReason } });
		expect(result).not.toHaveProperty('output');
	});

	test('is not required if the run waits for a manual tool', async () => {
		const manual = tool.define({ name: 'by_hand', description: '', inputSchema: v.object({}), manual: true });
		const { result } = await finish([calling({ id: 'a', name: 'by_hand', input: {} })], { ...schema, tools: [manual] });
		expect(result.status).toBe('awaiting_tools');
	});

	test('is described in the prompt if the schema allows any object', async () => {
		const { result, requests } = await finish(['[1]', '{"a":1}'], {
			outputSchema: { type: 'object' },
			system: 'Be brief.',
			skills: [{ name: 'tone', description: 'How we write.', body: 'Be warm.' }],
		});
		expect(result.output).toEqual({ a: 1 });
		expect(requests[0]?.options?.outputSchema).toBeUndefined();
		expect(requests[0]?.system).toMatch(/^Be brief\.\n\nAnswer with one JSON object.*\n\nAvailable skills/);
	});

	test('must not contain null for a field if the schema does not allow null', async () => {
		const outputSchema = { type: 'object', properties: { a: { type: 'string' } } };
		const { result } = await finish(['{"a":null}', '{}'], { outputSchema });
		expect(result.output).toEqual({});
	});

	test('is not requested if the outputSchema is invalid', async () => {
		for (const [own, says] of [
			[{ pattern: '(' }, 'pattern'],
			[{ $ref: '#/nowhere' }, '$ref'],
		] as const) {
			const { error, requests } = await fail([good], { outputSchema: { type: 'object', properties: { city: own } } });
			expect(error).toMatchObject({ code: 'invalid_request', data: { field: 'outputSchema' } });
			expect(error.message).toContain(`outputSchema: properties.city.${says}`);
			expect(requests).toEqual([]);
		}
	});
});
