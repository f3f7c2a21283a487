import { describe, expect, test } from 'vitest';
import {
	type ChatOptions,
	type ChatReply,
	chat,
	providers,
	type RunEvent,
	RunletError,
} from '../../../src/core/index.ts';
import { calling, echo, echoCall, refusal } from './support.ts';

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
	test('runLoop resolves to the final text, by whole replies', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoop(told, 'Look.')).toBe('Seen.');
		expect(requests.map(({ streamed }) => streamed)).toEqual([false, false]);
	});

	test('runLoopMessages starts from a conversation', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoopMessages(told, history)).toBe('Seen.');
		expect(requests[0]).toMatchObject({ messages: history });
	});

	test('runLoopStream resolves to the final text, by streaming, with or without onDelta', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoopStream(told, 'Look.')).toBe('Seen.');
		expect(requests.map(({ streamed }) => streamed)).toEqual([true, true]);
	});

	test('runLoopStreamMessages starts from a conversation', async () => {
		const { told, requests } = stage();
		expect(await chat.runLoopStreamMessages(told, history, () => {})).toBe('Seen.');
		expect(requests[0]).toMatchObject({ messages: history });
	});

	test('onDelta gets the deltas of all turns in order, a stop last in each, and nothing of the loop', async () => {
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

	test('all deltas are told before the promise resolves', async () => {
		let stops = 0;
		await chat.runLoopStream(options(), 'Look.', ({ type }) => {
			if (type === 'stop') stops++;
		});
		expect(stops).toBe(2);
	});

	test('an onDelta that throws ends the run with what it threw', async () => {
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

	test('an async onDelta is waited for, and a rejection of it ends the run', async () => {
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

	test('plain functions are enough: chatFn for the one, chatStreamFn for the other', async () => {
		const chatFn = (): ChatReply => ({ text: 'whole', stopReason: 'end_turn' });
		expect(await chat.runLoop({ model: 'any', chatFn }, 'Hi')).toBe('whole');
		const chatStreamFn = (): ChatReply => ({ text: 'streamed', stopReason: 'end_turn' });
		expect(await chat.runLoopStream({ model: 'any', chatStreamFn }, 'Hi')).toBe('streamed');
		expect(await chat.runLoop({ model: 'any', chatFn, chatStreamFn }, 'Hi')).toBe('whole');
		expect(await chat.runLoopStream({ model: 'any', chatFn, chatStreamFn }, 'Hi')).toBe('streamed');
	});
});

describe('the cap on turns', () => {
	const endless = (): ChatReply => calling(echoCall('again'));

	test('is 10, past it the run fails with max_iterations', async () => {
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

	test('is maxIterations if that is set', async () => {
		let turns = 0;
		const chatStreamFn = (): ChatReply => {
			turns++;
			return endless();
		};
		const told = { model: 'any', chatStreamFn, tools: [echo], maxIterations: 3 };
		expect((await refusal(chat.runLoopStream(told, 'Go.'))).code).toBe('max_iterations');
		expect(turns).toBe(3);
	});

	test('an answer in the last turn is an answer', async () => {
		expect(await chat.runLoop(options({ maxIterations: 2 }), 'Look.')).toBe('Seen.');
	});
});
