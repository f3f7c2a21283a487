import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { askUser, type ChatOptions, chat, fn, halt, providers, type Tool, tool } from '../../../src/core/index.ts';

const call = (id: string, name: string, input: unknown = {}) => ({ id, name, input });
const record = (name: string, run: Tool['fn'], rest: Partial<Tool> = {}): Tool => ({
	name,
	inputSchema: { type: 'object' },
	passInput: true,
	...(run && { fn: run }),
	...rest,
});

/** Runs a model that makes these calls in its first turn, and answers "done" in its second turn. */
function run(toolCalls: ReturnType<typeof call>[], options: Omit<ChatOptions, 'model' | 'providers'>) {
	const model = providers.scripted([{ toolCalls, stopReason: 'tool_use' }, 'done']);
	const started = chat.run({ model: 'scripted', providers: [model], ...options }, [chat.userMessage('go')]);
	return { model, ...started };
}

const answers = ({ messages }: Awaited<ReturnType<typeof chat.run>['result']>) =>
	messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message.content]] : []));

describe('the result of a tool', () => {
	test('askUser stops the run as awaiting_user with the question and its options', async () => {
		const ask = fn({ name: 'ask' }, () => askUser('Which one?', { choices: ['a', 'b'] }));
		const result = await run([call('c1', 'ask')], { tools: [ask] }).result;
		expect(result).toMatchObject({
			status: 'awaiting_user',
			metadata: { question: { callId: 'c1', question: 'Which one?', options: { choices: ['a', 'b'] } } },
		});
	});

	test('askUser without options asks only the question', async () => {
		const result = await run([call('c1', 'ask')], { tools: [record('ask', () => askUser('Why?'))] }).result;
		expect(result.metadata).toMatchObject({ question: { callId: 'c1', question: 'Why?' } });
	});

	test('halt stops the run with the reason, and the history keeps the result', async () => {
		const stop = fn({ name: 'stop' }, () => halt('enough', { found: 3 }));
		const { result, model } = run([call('c1', 'stop')], { tools: [stop] });
		const ended = await result;
		expect(ended).toMatchObject({ status: 'halted', haltedReason: 'enough' });
		expect(JSON.stringify(answers(ended))).toContain('found');
		expect(model.requests).toHaveLength(1);
	});
});

describe('manual tools', () => {
	test('leave their calls open, and the other calls of the turn still run', async () => {
		const charge = tool.define({ name: 'charge', description: 'd', inputSchema: v.object({}), manual: true });
		const calls = [call('c1', 'charge', {}), call('c2', 'look')];
		const result = await run(calls, { tools: [charge, record('look', () => 'seen')] }).result;
		expect(result).toMatchObject({
			status: 'awaiting_tools',
			haltedReason: 'manual_tool_calls',
			metadata: { manualToolCalls: [{ id: 'c1', name: 'charge' }] },
		});
		expect(answers(result).map(([id]) => id)).toEqual(['c2']);
	});

	test('are not run by the loop, even if they have a function', async () => {
		const charge = record(
			'charge',
			() => {
				throw new Error('ran');
			},
			{ manual: true },
		);
		expect(await run([call('c1', 'charge')], { tools: [charge] }).result).toMatchObject({ status: 'awaiting_tools' });
	});

	test('let the run continue when their results are appended as tool messages', async () => {
		const charge = record('charge', undefined, { manual: true });
		const { messages } = await run([call('c1', 'charge')], { tools: [charge] }).result;
		const model = providers.scripted(['charged']);
		const options = { model: 'scripted', providers: [model], tools: [charge] };
		const answer = chat.toolResultMessage({ id: 'c1', output: 'paid', isError: false });
		expect(await chat.run(options, [...messages, answer]).result).toMatchObject({
			status: 'completed',
			text: 'charged',
		});
	});

	test("in a run with the mode 'manual', every tool counts as manual, and no tool is run", async () => {
		const ran: string[] = [];
		const tools = ['a', 'b'].map((name) => record(name, () => ran.push(name)));
		const result = await run([call('c1', 'a'), call('c2', 'b')], { tools, mode: 'manual' }).result;
		expect(result).toMatchObject({
			status: 'awaiting_tools',
			metadata: { manualToolCalls: [{ id: 'c1' }, { id: 'c2' }] },
		});
		expect(ran).toEqual([]);
	});
});

describe('the calls of one turn', () => {
	test('run in parallel if their tools are concurrent', async () => {
		const [left, right] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
		const meet = (own: typeof left, other: typeof right) => () => {
			own.resolve('here');
			return other.promise;
		};
		const tools = [record('left', meet(left, right)), record('right', meet(right, left))];
		expect(await run([call('c1', 'left'), call('c2', 'right')], { tools }).result).toMatchObject({
			status: 'completed',
			text: 'done',
		});
	});

	test('run one at a time, after all other calls, if their tools are sequential', async () => {
		const order: string[] = [];
		const log = (name: string) => async () => {
			order.push(`${name} begins`);
			await Promise.resolve();
			await Promise.resolve();
			order.push(`${name} ends`);
		};
		const tools = [
			record('s1', log('s1'), { sequential: true }),
			record('s2', log('s2'), { sequential: true }),
			record('c', log('c')),
		];
		await run([call('c1', 's1'), call('c2', 's2'), call('c3', 'c')], { tools }).result;
		expect(order).toEqual(['c begins', 'c ends', 's1 begins', 's1 ends', 's2 begins', 's2 ends']);
	});

	test('the request before them advertises only the available tools to the model', async () => {
		const tools = [record('seen', () => 1), record('hidden', () => 1, { isAvailable: () => false })];
		const { model, result } = run([], { tools });
		await result;
		expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['seen']);
	});

	test('send their notes to the reader as note events with a label and a detail', async () => {
		const look = record('look', () => 1, { onRequest: () => 'Looking', onResult: () => ['Looked', 'once'] });
		const { events } = run([call('c1', 'look')], { tools: [look] });
		const notes = [];
		for await (const event of events) if (event.type === 'note') notes.push(event);
		expect(notes).toMatchObject([
			{ id: 'c1', label: 'Looking' },
			{ id: 'c1', label: 'Looked', detail: 'once' },
		]);
	});
});
