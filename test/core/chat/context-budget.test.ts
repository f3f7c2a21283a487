import { describe, expect, test } from 'vitest';
import { chat, type Message } from '../../../src/core/index.ts';
import { calling, echo, echoCall, fail, finish, only, readTool, refusal } from './support.ts';

const thousand: Message[] = [chat.userMessage('x'.repeat(4_000))];

describe('token estimates', () => {
	test('are a quarter of the characters of the messages, plus 4 for each message', () => {
		expect(chat.countTokensHeuristic([], 'm')).toBe(0);
		expect(chat.countTokensHeuristic([chat.userMessage('x'.repeat(40))], 'm')).toBe(14);
		expect(
			chat.countTokensHeuristic([chat.userMessage('x'.repeat(40)), chat.assistantMessage('y'.repeat(8))], 'm'),
		).toBe(20);
	});

	test('include the JSON of calls and results', () => {
		const call = { id: 'a', name: 'echo', input: { text: 'x'.repeat(400) } };
		expect(chat.countTokensHeuristic([chat.assistantMessage('', [call])], 'm')).toBeGreaterThan(100);
		const result = chat.toolResultMessage({ id: 'a', output: { rows: 'x'.repeat(400) }, isError: false });
		expect(chat.countTokensHeuristic([result], 'm')).toBeGreaterThan(100);
	});

	test('are a quarter of the characters of a system prompt', () => {
		expect(chat.estimateSystemTokens('x'.repeat(40))).toBe(10);
		expect(chat.estimateSystemTokens(undefined)).toBe(0);
	});

	test("are a quarter of the characters of the tools' JSON, plus about 10 for each tool", () => {
		const one = readTool('look', () => 'seen', { description: 'x'.repeat(400) });
		expect(chat.estimateToolsTokens(undefined)).toBe(0);
		expect(chat.estimateToolsTokens([])).toBe(0);
		expect(chat.estimateToolsTokens([one])).toBeGreaterThan(110);
		expect(chat.estimateToolsTokens([one, one])).toBe(2 * chat.estimateToolsTokens([one]));
	});

	test('have a breakdown that names the context limit, the total and all parts', () => {
		const text = chat.formatBudgetBreakdown({ messages: 111, system: 22, tools: 33 }, 166, 150);
		for (const word of ['context limit', '111', '22', '33', '166', '150']) expect(text).toContain(word);
	});
});

describe('checkBudget', () => {
	test('resolves to undefined without a limit', async () => {
		expect(await chat.checkBudget({ model: 'm' }, thousand)).toBeUndefined();
	});

	test('rejects a request over the limit with an error that names the parts, the total and the limit', async () => {
		const error = await refusal(
			chat.checkBudget({ model: 'm', system: 'x'.repeat(40), maxContextTokens: 500 }, thousand, [
				readTool('look', () => ''),
			]),
		);
		expect(error.code).toBe('context_overflow');
		expect(error.message).toContain('context limit');
		const tools = chat.estimateToolsTokens([readTool('look', () => '')]);
		expect(error.data).toEqual({ parts: { messages: 1_004, system: 10, tools }, total: 1_014 + tools, limit: 500 });
	});

	test('accepts a request whose size equals the limit', async () => {
		await expect(chat.checkBudget({ model: 'm', maxContextTokens: 1_004 }, thousand)).resolves.toBeDefined();
		expect((await refusal(chat.checkBudget({ model: 'm', maxContextTokens: 1_003 }, thousand))).code).toBe(
			'context_overflow',
		);
	});

	test('uses modelContextWindow if maxContextTokens is missing', async () => {
		expect((await refusal(chat.checkBudget({ model: 'm', modelContextWindow: 500 }, thousand))).data?.limit).toBe(500);
		await expect(
			chat.checkBudget({ model: 'm', modelContextWindow: 500, maxContextTokens: 2_000 }, thousand),
		).resolves.toBeDefined();
	});

	test('passes the messages and the model to countTokensFn', async () => {
		const asked: unknown[] = [];
		const countTokensFn = async (messages: readonly Message[], model: string) => {
			asked.push([messages, model]);
			return 7;
		};
		await chat.checkBudget({ model: 'm', maxContextTokens: 7, countTokensFn }, thousand);
		expect(asked).toEqual([[thousand, 'm']]);
		expect((await refusal(chat.checkBudget({ model: 'm', maxContextTokens: 6, countTokensFn }, thousand))).code).toBe(
			'context_overflow',
		);
	});
});

describe('the loop', () => {
	test('does not send the model a request that is over the limit', async () => {
		const { error, requests, events } = await fail(['never'], { maxContextTokens: 500 }, thousand);
		expect(error.code).toBe('context_overflow');
		expect(requests).toEqual([]);
		expect(events.at(-1)).toMatchObject({ type: 'error', code: 'context_overflow' });
	});

	test('warns once if the request reaches 0.8 of the limit', async () => {
		const { events, result } = await finish(['fine'], { maxContextTokens: 1_250 }, thousand);
		expect(only(events, 'warning')).toHaveLength(1);
		expect(result.text).toBe('fine');
	});

	test('does not warn below the threshold', async () => {
		expect(only((await finish(['fine'], { maxContextTokens: 1_300 }, thousand)).events, 'warning')).toEqual([]);
	});

	test('warns if the request reaches warnContextPct of the limit', async () => {
		const options = { maxContextTokens: 10_000, warnContextPct: 0.05 };
		expect(only((await finish(['fine'], options, thousand)).events, 'warning')).toHaveLength(1);
	});

	test('checks the limit before each turn, so a large result ends the run', async () => {
		const script = [calling(echoCall('a', 'x'.repeat(8_000))), 'never'];
		const { error, requests } = await fail(script, { maxContextTokens: 2_000, tools: [echo] });
		expect(error.code).toBe('context_overflow');
		expect(requests).toHaveLength(1);
	});

	test('counts the skill index and the tools', async () => {
		const skills = [{ name: 'long', description: 'x'.repeat(2_000), body: '' }];
		const { error } = await fail(['never'], { maxContextTokens: 500, skills });
		expect(error.data?.parts).toMatchObject({ system: expect.any(Number), tools: expect.any(Number) });
		const none = await finish(['fine'], { maxContextTokens: 500 });
		expect(none.result.text).toBe('fine');
	});
});
