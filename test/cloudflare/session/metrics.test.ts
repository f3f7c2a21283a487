import { expect, test } from 'vitest';
import { RunCounter } from '../../../src/cloudflare/session/run/metrics.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';

const usage = { inputTokens: 10, outputTokens: 1 };
const stop = { type: 'stop', reason: 'tool_use', usage } as const;
const result = { type: 'tool_result', id: 'a', output: 'x', isError: false } as const;
const step = (iteration: number, of = usage): RunEvent => ({
	type: 'step',
	iteration,
	model: 'm',
	text: '',
	toolCalls: [],
	toolResults: [],
	stopReason: 'tool_use',
	usage: of,
});
const readTally = (...events: RunEvent[]) => new RunCounter(events).tally;

test('a turn counts once with the cost of its failed tries, with or without a step event', () => {
	const dear = { inputTokens: 25, outputTokens: 2 };
	expect(readTally(stop, step(1, dear), stop)).toMatchObject({ turns: 2, usage: { inputTokens: 35, outputTokens: 3 } });
});

test('a restarted turn counts once', () => {
	const again: RunEvent = { type: 'turn.restarted', iteration: 1 };
	expect(readTally(stop, again, stop, step(1))).toMatchObject({ turns: 1, usage });
});

test('open calls of an earlier run do not count as a turn', () => {
	expect(readTally(result, step(0), stop, step(1))).toMatchObject({ turns: 1, toolCalls: 1, usage });
});

test('a result that is an error counts as a call and as a failure', () => {
	const failed: RunEvent = { ...result, id: 'b', isError: true };
	expect(readTally(stop, result, failed, step(1))).toMatchObject({ toolCalls: 2, toolFailures: 1 });
});

test('the usage that a run reports at its end replaces the sum of its turns', () => {
	const whole = { inputTokens: 99, outputTokens: 9 };
	expect(readTally(stop, step(1), { type: 'done', text: '', usage: whole })).toEqual({
		turns: 1,
		toolCalls: 0,
		toolFailures: 0,
		usage: whole,
	});
	expect(readTally(stop, { type: 'cancelled' })).toMatchObject({ turns: 1, usage });
});
