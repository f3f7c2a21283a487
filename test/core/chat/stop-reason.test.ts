import { describe, expect, test } from 'vitest';
import { chat } from '../../../src/core/index.ts';
import { calling, echo, echoCall, fail, finish, only, readText, readTool } from './support.ts';

describe('max_tokens', () => {
	test('ends the run, and a cut-off call does not run', async () => {
		let ran = 0;
		const count = readTool('count', () => ++ran);
		const cut = { id: 'a', name: 'count', input: '{"text": "unfin' };
		const { result, requests, events } = await finish(
			[{ text: 'I will', toolCalls: [cut], stopReason: 'max_tokens' }, 'never'],
			{ tools: [count] },
		);
		expect(ran).toBe(0);
		expect(requests).toHaveLength(1);
		expect(result).toMatchObject({ status: 'completed', text: 'I will', metadata: { stopReason: 'max_tokens' } });
		expect(result.messages.at(-1)).toEqual({ role: 'assistant', content: 'I will' });
		expect(only(events, 'stop')).toMatchObject([{ reason: 'max_tokens' }]);
	});

	test('lets the conversation continue', async () => {
		const cut = await finish([{ toolCalls: [echoCall('a')], stopReason: 'max_tokens' }], { tools: [echo] });
		const history = [...cut.result.messages, chat.userMessage('Go on.')];
		const { result, requests } = await finish(['Here.'], { tools: [echo] }, history);
		expect(result.text).toBe('Here.');
		expect(requests[0]?.messages).toEqual(history);
	});
});

describe('other stop reasons', () => {
	test('pause_turn sends the paused turn back to the model', async () => {
		const { result, requests } = await finish([{ text: 'Thinking …', stopReason: 'pause_turn' }, 'Done.']);
		expect(requests[1]?.messages).toEqual([chat.userMessage('Hello'), chat.assistantMessage('Thinking …')]);
		expect(result).toMatchObject({ status: 'completed', text: 'Done.', metadata: { stopReason: 'end_turn' } });
		expect(result.steps).toHaveLength(2);
	});

	test('pause_turn is limited by maxIterations', async () => {
		const pause = { text: '…', stopReason: 'pause_turn' };
		expect((await fail([pause, pause, pause], { maxIterations: 2 })).error.code).toBe('max_iterations');
	});

	test('a refusal drops the calls of its reply', async () => {
		let ran = 0;
		const count = readTool('count', () => ++ran);
		const { result } = await finish(
			[{ text: 'No.', toolCalls: [{ id: 'a', name: 'count', input: {} }], stopReason: 'refusal' }],
			{ tools: [count] },
		);
		expect(ran).toBe(0);
		expect(result).toMatchObject({ status: 'completed', text: 'No.', metadata: { stopReason: 'refusal' } });
		expect(result.messages.at(-1)).toEqual({ role: 'assistant', content: 'No.' });
	});

	test('an unknown reason of a provider is passed on', async () => {
		const { result } = await finish([{ text: 'Hm', stopReason: 'acme_special' }]);
		expect(result).toMatchObject({ status: 'completed', metadata: { stopReason: 'acme_special' } });
	});

	test('end_turn still runs the calls of its reply', async () => {
		const { result } = await finish([{ toolCalls: [echoCall('a')], stopReason: 'end_turn' }, 'Done.'], {
			tools: [echo],
		});
		expect(result.messages).toContainEqual({ role: 'tool', toolCallId: 'a', content: 'a', isError: false });
		expect(result.text).toBe('Done.');
	});
});

describe('a reply', () => {
	test('fails with interrupted if it breaks off', async () => {
		const { error } = await fail([undefined], { maxRetries: 0 });
		expect(error.code).toBe('interrupted');
	});

	test('fails with interrupted if it breaks off after some text, and the text stays shown', async () => {
		const cut: Parameters<typeof fail>[0][number] = async (_, onDelta) => {
			await onDelta({ type: 'text', text: 'Once upon' });
			return undefined;
		};
		const { error, events, requests } = await fail([cut, 'never'], { maxRetries: 0 });
		expect(error.code).toBe('interrupted');
		expect(readText(events)).toBe('Once upon');
		expect(requests).toHaveLength(1);
	});

	test('without a stop delta is complete', async () => {
		const { result, events } = await finish([{ text: 'Hi', deltas: [{ type: 'text', text: 'Hi' }] }]);
		expect(result.status).toBe('completed');
		expect(only(events, 'stop')).toHaveLength(1);
	});

	test('without deltas is shown as a whole', async () => {
		const { events } = await finish([{ text: 'Look.', ...calling(echoCall('a')), deltas: [] }, 'Hi'], {
			tools: [echo],
		});
		expect(readText(events)).toBe('Look.Hi');
		expect(only(events, 'tool_use_start')).toEqual([{ type: 'tool_use_start', id: 'a', name: 'echo' }]);
		expect(only(events, 'tool_use_input')).toEqual([
			{ type: 'tool_use_input', id: 'a', partialInputJson: '{"text":"a"}' },
		]);
		expect(only(events, 'tool_use_end')).toEqual([{ type: 'tool_use_end', id: 'a' }]);
	});
});

describe('usage', () => {
	const usage = { inputTokens: 10, outputTokens: 2, totalTokens: 12, costUsd: 0.5 };

	test('in the result and in the done event is the sum of all turns', async () => {
		const { result, events } = await finish(
			[
				{ ...calling(echoCall('a')), usage },
				{ text: 'Hi', usage },
			],
			{ tools: [echo] },
		);
		const sum = { inputTokens: 20, outputTokens: 4, totalTokens: 24, costUsd: 1 };
		expect(result.usage).toEqual(sum);
		expect(events.at(-1)).toEqual({ type: 'done', text: 'Hi', usage: sum });
		expect(result.steps.map((step) => step.usage)).toEqual([usage, usage]);
	});

	test('includes the usage that only the stop delta reports', async () => {
		const { result } = await finish([{ text: 'Hi', deltas: [{ type: 'stop', reason: 'end_turn', usage }] }]);
		expect(result.usage).toEqual(usage);
	});

	test('includes the failed turn and the turns before it', async () => {
		const broken = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
		const { error } = await fail(
			[
				{ ...calling(echoCall('a')), usage },
				async (_, onDelta) => {
					await onDelta({ type: 'text', text: 'So' });
					await onDelta({ type: 'stop', reason: 'end_turn', usage });
					throw broken;
				},
			],
			{ tools: [echo], maxRetries: 0 },
		);
		expect(error.code).toBe('network');
		expect(error.data?.usage).toMatchObject({ inputTokens: 20, outputTokens: 4 });
	});

	test('includes an interrupted turn', async () => {
		const cut: Parameters<typeof fail>[0][number] = async (_, onDelta) => {
			await onDelta({ type: 'text', text: 'So' });
			await onDelta({ type: 'stop', reason: 'end_turn', usage });
			return undefined;
		};
		const { error } = await fail([cut], { maxRetries: 0 });
		expect(error).toMatchObject({ code: 'interrupted', data: { usage } });
	});
});
