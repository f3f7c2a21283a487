import { describe, expect, test } from 'vitest';
import {
	askUser,
	type ChatOptions,
	type ChatReply,
	chat,
	halt,
	providers,
	type RunEvent,
	RunletError,
} from '../../../src/core/index.ts';
import { byHand, calling, echo, echoCall, finish, only, readTool, refusal, results } from './support.ts';

const script = () => [
	{ text: 'I look.', ...calling(echoCall('a')) },
	{
		deltas: [
			{ type: 'text', text: 'Se' },
			{ type: 'text', text: 'en.' },
		],
		text: 'Seen.',
	},
];
const stage = () => {
	const model = providers.scripted(script());
	const told: ChatOptions = { model: 'scripted', providers: [model], tools: [echo] };
	return { told, requests: model.requests };
};
const options = (more: Partial<ChatOptions> = {}): ChatOptions => ({ ...stage().told, ...more });
const history = [chat.userMessage('Hi'), chat.assistantMessage('Hello!'), chat.userMessage('Look.')];

describe('the four loops', () => {
	test('runLoop resolves to the final text without streaming', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoop(told, 'Look.')).toBe('Seen.');
		expect(requests.map(({ streamed }) => streamed)).toEqual([false, false]);
	});

	test('runLoopMessages starts from a conversation', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoopMessages(told, history)).toBe('Seen.');
		expect(requests[0]).toMatchObject({ messages: history });
	});

	test('runLoopStream resolves to the final text with streaming, even without onDelta', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoopStream(told, 'Look.')).toBe('Seen.');
		expect(requests.map(({ streamed }) => streamed)).toEqual([true, true]);
	});

	test('runLoopStreamMessages starts from a conversation', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoopStreamMessages(told, history, () => {})).toBe('Seen.');
		expect(requests[0]).toMatchObject({ messages: history });
	});

	test('onDelta gets the deltas and the stop of each turn in order, but no events of the loop', async () => {
		const deltas: RunEvent[] = [];
		await chat.runLoopStream(options(), 'Look.', (delta) => {
			deltas.push(delta);
		});
		expect(deltas).toEqual([
			{ type: 'text', text: 'I look.' },
			{ type: 'tool_use_start', id: 'a', name: 'echo' },
			{ type: 'tool_use_input', id: 'a', partialInputJson: '{"text":"a"}' },
			{ type: 'tool_use_end', id: 'a' },
			{ type: 'stop', reason: 'tool_use', usage: {} },
			{ type: 'text', text: 'Se' },
			{ type: 'text', text: 'en.' },
			{ type: 'stop', reason: 'end_turn', usage: {} },
		]);
	});

	test('onDelta gets all deltas before the promise resolves', async () => {
		let stops = 0;
		await chat.runLoopStream(options(), 'Look.', ({ type }) => {
			if (type === 'stop') stops++;
		});
		expect(stops).toBe(2);
	});

	test('an error in onDelta ends the run with that error', async () => {
		const model = providers.scripted([
			async (_, onDelta) => {
				await onDelta({ type: 'text', text: 'a' });
				return 'a';
			},
		]);
		const broken = new Error('the page is gone');
		const run = chat.runLoopStream({ model: 'scripted', providers: [model] }, 'Hi', () => {
			throw broken;
		});
		await expect(run).rejects.toBe(broken);
	});

	test('the run waits for an async onDelta, and ends with its rejection', async () => {
		const order: string[] = [];
		await chat.runLoopStream(options(), 'Look.', async ({ type }) => {
			order.push(`${type} begins`);
			await null;
			order.push(`${type} ends`);
		});
		expect(order.length).toBeGreaterThan(8);
		for (let at = 0; at < order.length; at += 2) expect(order[at]?.replace('begins', 'ends')).toBe(order[at + 1]);
		const broken = new Error('the page is gone');
		await expect(chat.runLoopStream(options(), 'Look.', () => Promise.reject(broken))).rejects.toBe(broken);
	});

	test.each([
		['runLoop', (given: ChatOptions) => chat.runLoop(given, 'Hi')],
		['runLoopMessages', (given: ChatOptions) => chat.runLoopMessages(given, history)],
		['runLoopStream', (given: ChatOptions) => chat.runLoopStream(given, 'Hi', () => {})],
		['runLoopStreamMessages', (given: ChatOptions) => chat.runLoopStreamMessages(given, history, () => {})],
	])('%s rejects with a RunletError', async (_, loop) => {
		const error = await refusal(loop({ model: 'nobody knows' }));
		expect(error).toBeInstanceOf(RunletError);
		expect(error.code).toBe('unknown_model');
	});

	test('chatFn and chatStreamFn replace a provider', async () => {
		const chatFn = (): ChatReply => ({ text: 'whole', stopReason: 'end_turn' });
		expect(await chat.runLoop({ model: 'any', chatFn }, 'Hi')).toBe('whole');
		const chatStreamFn = (): ChatReply => ({ text: 'streamed', stopReason: 'end_turn' });
		expect(await chat.runLoopStream({ model: 'any', chatStreamFn }, 'Hi')).toBe('streamed');
		expect(await chat.runLoop({ model: 'any', chatFn, chatStreamFn }, 'Hi')).toBe('whole');
		expect(await chat.runLoopStream({ model: 'any', chatFn, chatStreamFn }, 'Hi')).toBe('streamed');
	});
});

describe('the limit of turns', () => {
	const endless = (): ChatReply => calling(echoCall('again'));

	test('is 10 by default, and after 10 turns the run fails with max_iterations', async () => {
		let turns = 0;
		const chatFn = (): ChatReply => {
			turns++;
			return endless();
		};
		const error = await refusal(chat.runLoop({ model: 'any', chatFn, tools: [echo] }, 'Go.'));
		expect(error.code).toBe('max_iterations');
		expect(error.message).toContain('max-iterations');
		expect(turns).toBe(10);
	});

	test('is maxIterations if set', async () => {
		let turns = 0;
		const chatStreamFn = (): ChatReply => {
			turns++;
			return endless();
		};
		const told = { model: 'any', chatStreamFn, tools: [echo], maxIterations: 3 };
		expect((await refusal(chat.runLoopStream(told, 'Go.'))).code).toBe('max_iterations');
		expect(turns).toBe(3);
	});

	test('allows an answer in the last turn', async () => {
		expect(await chat.runLoop(options({ maxIterations: 2 }), 'Look.')).toBe('Seen.');
	});
});

const hello = chat.userMessage('Hello');

describe('RunResult', () => {
	test('has the text, the whole conversation, the usage and the steps of a completed run', async () => {
		const input = [{ role: 'system', content: 'Be brief.' } as const, hello];
		const { result } = await finish(
			[{ text: 'I look.', ...calling(echoCall('a')) }, 'Seen.'],
			{ tools: [echo] },
			input,
		);
		expect(result).toEqual({
			status: 'completed',
			text: 'Seen.',
			messages: [
				...input,
				chat.assistantMessage('I look.', [echoCall('a')]),
				chat.toolResultMessage({ id: 'a', output: 'a', isError: false }),
				chat.assistantMessage('Seen.'),
			],
			metadata: { stopReason: 'end_turn' },
			usage: {},
			steps: [
				{
					iteration: 1,
					model: 'scripted',
					text: 'I look.',
					toolCalls: [echoCall('a')],
					toolResults: [{ id: 'a', output: 'a', isError: false }],
					stopReason: 'tool_use',
					usage: {},
				},
				{
					iteration: 2,
					model: 'scripted',
					text: 'Seen.',
					toolCalls: [],
					toolResults: [],
					stopReason: 'end_turn',
					usage: {},
				},
			],
		});
	});

	test('leaves the input unchanged', async () => {
		const input = Object.freeze([hello]);
		await finish([calling(echoCall('a')), 'Done.'], { tools: [echo] }, input);
		expect(input).toEqual([hello]);
	});

	test('has the same steps as the step events', async () => {
		const { events, result } = await finish([calling(echoCall('a')), 'Done.'], { tools: [echo] });
		expect(only(events, 'step').map(({ type: _, ...step }) => step)).toEqual(result.steps);
	});
});

describe('a question', () => {
	const ask = readTool('ask', () => askUser('Which size?', { choices: ['S', 'M'] }));
	const asking = calling(echoCall('e'), { id: 'q', name: 'ask', input: {} });
	const question = { callId: 'q', question: 'Which size?', options: { choices: ['S', 'M'] } };

	test('stops the run as awaiting_user, and appears in the result and in the last event', async () => {
		const { result, events, requests } = await finish([asking, 'never'], { tools: [echo, ask] });
		expect(result).toMatchObject({ status: 'awaiting_user', metadata: { question } });
		expect(events.at(-1)).toMatchObject({ type: 'awaiting', status: 'awaiting_user', question });
		expect(requests).toHaveLength(1);
	});

	test('leaves its call open and keeps the other results of the turn', async () => {
		const { result } = await finish([asking], { tools: [echo, ask] });
		expect(results(result.messages)).toEqual([['e', 'e']]);
	});

	test('is answered by a result of its call, and then the run continues', async () => {
		const first = await finish([asking], { tools: [echo, ask] });
		const answer = chat.toolResultMessage({ id: 'q', output: 'M', isError: false });
		const { result, requests } = await finish(['Size M.'], { tools: [echo, ask] }, [...first.result.messages, answer]);
		expect(result).toMatchObject({ status: 'completed', text: 'Size M.' });
		expect(results(requests[0]?.messages ?? [])).toEqual([
			['e', 'e'],
			['q', 'M'],
		]);
	});

	test('has no options if the tool passes none', async () => {
		const plain = readTool('ask', () => askUser('Why?'));
		const { result } = await finish([calling({ id: 'q', name: 'ask', input: {} })], { tools: [plain] });
		expect(result.metadata.question).toEqual({ callId: 'q', question: 'Why?' });
	});

	test('prevents the later sequential calls of its turn', async () => {
		let ran = 0;
		const charge = readTool('charge', () => ++ran, { sequential: true });
		const turn = calling({ id: 'q', name: 'ask', input: {} }, { id: 'c', name: 'charge', input: {} });
		await finish([turn], { tools: [ask, charge] });
		expect(ran).toBe(0);
	});
});

describe('a halt', () => {
	const stop = readTool('stop', () => halt('over_limit', { spent: 100 }));
	const halting = calling({ id: 's', name: 'stop', input: {} });

	test('stops the run with its reason, and keeps its result in the history', async () => {
		const { result, events, requests } = await finish([halting, 'never'], { tools: [stop] });
		expect(result).toMatchObject({ status: 'halted', haltedReason: 'over_limit' });
		expect(results(result.messages)).toEqual([['s', { spent: 100 }]]);
		expect(only(events, 'tool_result')).toEqual([
			{ type: 'tool_result', id: 's', output: { spent: 100 }, isError: false },
		]);
		expect(events.at(-1)).toEqual({ type: 'halted', reason: 'over_limit' });
		expect(requests).toHaveLength(1);
	});

	test('lets the concurrent calls of its turn finish', async () => {
		const turn = calling({ id: 's', name: 'stop', input: {} }, echoCall('e'));
		const { result } = await finish([turn], { tools: [stop, echo] });
		expect(results(result.messages)).toEqual([
			['s', { spent: 100 }],
			['e', 'e'],
		]);
	});

	test('can be continued', async () => {
		const first = await finish([halting], { tools: [stop] });
		const { result } = await finish(['Going on.'], { tools: [stop] }, first.result.messages);
		expect(result).toMatchObject({ status: 'completed', text: 'Going on.' });
	});
});

describe('a manual tool', () => {
	const turn = calling(echoCall('e'), { id: 'm', name: 'by_hand', input: {} }, { id: 'n', name: 'by_hand', input: {} });
	const open = turn.toolCalls.slice(1);
	const tools = [echo, byHand];

	test('stops the run as awaiting_tools with the open calls, after the other calls ran', async () => {
		const { result, events, requests } = await finish([turn, 'never'], { tools });
		expect(result).toMatchObject({
			status: 'awaiting_tools',
			haltedReason: 'manual_tool_calls',
			metadata: { manualToolCalls: open, stopReason: 'tool_use' },
		});
		expect(results(result.messages)).toEqual([['e', 'e']]);
		expect(events.at(-1)).toEqual({ type: 'awaiting', status: 'awaiting_tools', toolCalls: open });
		expect(requests).toHaveLength(1);
	});

	test('gets its result from an appended tool message, and no call runs twice', async () => {
		let ran = 0;
		const count = readTool('echo', () => ++ran);
		const first = await finish([turn], { tools: [count, byHand] });
		const answers = ['n', 'm'].map((id) => chat.toolResultMessage({ id, output: `${id}!`, isError: false }));
		const messages = [...first.result.messages, ...answers];
		const { result, requests } = await finish(['Done.'], { tools: [count, byHand] }, messages);
		expect(result.status).toBe('completed');
		expect(ran).toBe(1);
		expect(results(requests[0]?.messages ?? []).toSorted()).toEqual([
			['e', 1],
			['m', 'm!'],
			['n', 'n!'],
		]);
	});

	test('delays the next request until all manual calls have results', async () => {
		const first = await finish([turn], { tools });
		const messages = [...first.result.messages, chat.toolResultMessage({ id: 'm', output: 1, isError: false })];
		const { result, requests } = await finish(['never'], { tools }, messages);
		expect(requests).toEqual([]);
		expect(result).toMatchObject({ status: 'awaiting_tools', metadata: { manualToolCalls: open.slice(1) } });
	});

	test('is any tool without a function', async () => {
		const bare = readTool('bare', undefined);
		const { result } = await finish([calling({ id: 'b', name: 'bare', input: {} })], { tools: [bare] });
		expect(result.status).toBe('awaiting_tools');
	});

	test('is listed as open if a question stops the run', async () => {
		const ask = readTool('ask', () => askUser('Which?'));
		const both = calling({ id: 'q', name: 'ask', input: {} }, ...open);
		const { result } = await finish([both], { tools: [byHand, ask] });
		expect(result).toMatchObject({
			status: 'awaiting_user',
			metadata: { manualToolCalls: open, question: { callId: 'q' } },
		});
	});
});

describe("mode 'manual'", () => {
	test('stops the run with all calls open', async () => {
		let ran = 0;
		const count = readTool('count', () => ++ran);
		const turn = calling({ id: 'a', name: 'count', input: {} }, { id: 'b', name: 'by_hand', input: {} });
		const { result } = await finish([turn], { tools: [count, byHand], mode: 'manual' });
		expect(ran).toBe(0);
		expect(result).toMatchObject({ status: 'awaiting_tools', metadata: { manualToolCalls: turn.toolCalls } });
	});

	test('continues with appended results, one turn at a time', async () => {
		const options = { tools: [echo], mode: 'manual' } as const;
		const first = await finish([calling(echoCall('a'))], options);
		const answer = chat.toolResultMessage({ id: 'a', output: 'by me', isError: false });
		const { result } = await finish(['Done.'], options, [...first.result.messages, answer]);
		expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
	});

	test('leaves calls open, and a later run in mode auto runs them', async () => {
		const first = await finish([calling(echoCall('a'))], { tools: [echo], mode: 'manual' });
		const { result } = await finish(['Done.'], { tools: [echo] }, first.result.messages);
		expect(results(result.messages)).toEqual([['a', 'a']]);
		expect(result.status).toBe('completed');
	});
});
