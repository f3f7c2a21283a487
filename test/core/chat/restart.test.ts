import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ChatOptions, chat, providers, type RunEvent, RunletError } from '../../../src/core/index.ts';
import { calling, echo, echoCall, httpError, only, play, readText, type Script, settled } from './support.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Take = (delta: { type: string; text?: string; id?: string; name?: string; partialInputJson?: string }) => unknown;

/** A turn that streams a text and then fails. */
const cut = (failure: Error | undefined, text = 'Half of') => {
	return async (_: unknown, onDelta: Take) => {
		await onDelta({ type: 'text', text });
		return failure;
	};
};
const reset = Object.assign(new TypeError('terminated'), { cause: { code: 'ECONNRESET' } });
const played = (script: Script, options: Parameters<typeof play>[1] = {}) => settled(play(script, options));

/** Returns the text of a reader that drops the restarted turns. */
function shownBy(events: readonly RunEvent[]): string {
	let turn = '';
	let before = '';
	for (const event of events) {
		if (event.type === 'text') turn += event.text;
		if (event.type === 'turn.restarted') turn = '';
		if (event.type !== 'step') continue;
		before += turn;
		turn = '';
	}
	return before + turn;
}

describe('a turn whose stream breaks off is restarted', () => {
	test.each([
		['a reset', reset],
		['an end without its terminal event', undefined],
		['a temporary error of the provider', httpError(529)],
		['a stream that was cut', new RunletError('interrupted', 'cut')],
	])('after %s, and its readers get turn.restarted', async (_, failure) => {
		const { result, events, requests } = await played([cut(failure), 'The whole answer.']);
		expect(result?.text).toBe('The whole answer.');
		expect(requests).toHaveLength(2);
		expect(events.map(({ type }) => type)).toEqual([
			...['run.started', 'text', 'retry', 'turn.restarted', 'text', 'stop', 'step', 'done'],
		]);
		expect(only(events, 'turn.restarted')).toEqual([{ type: 'turn.restarted', iteration: 1 }]);
		expect(shownBy(events)).toBe('The whole answer.');
		expect(result?.messages.map(chat.messageText)).toEqual(['Hello', 'The whole answer.']);
	});

	test('after its stream was silent for idleMs', async () => {
		const silent = async (_: unknown, onDelta: Take) => {
			await onDelta({ type: 'text', text: 'Half' });
			return new Promise<never>(() => {});
		};
		const { result, events } = await played([silent, 'Whole.'], { timeouts: { idleMs: 1_000 } });
		expect(result?.text).toBe('Whole.');
		expect(shownBy(events)).toBe('Whole.');
	});

	test('even if it is a later turn, and its interrupted call does not run', async () => {
		const ran: unknown[] = [];
		const half = async (_: unknown, onDelta: Take) => {
			await onDelta({ type: 'tool_use_start', id: 'b', name: 'echo' });
			await onDelta({ type: 'tool_use_input', id: 'b', partialInputJson: '{"text":' });
			return undefined;
		};
		const { result, events } = await played([calling(echoCall('a')), half, calling(echoCall('b')), 'done'], {
			tools: [echo],
			onToolCall: (call) => void ran.push(call.id),
		});
		expect(ran).toEqual(['a', 'b']);
		expect(only(events, 'turn.restarted')).toEqual([{ type: 'turn.restarted', iteration: 2 }]);
		expect(result?.steps.map(({ iteration }) => iteration)).toEqual([1, 2, 3]);
		expect(result?.messages.filter(({ role }) => role === 'assistant')).toHaveLength(3);
	});

	test('and can then use the same call id again', async () => {
		const half = async (_: unknown, onDelta: Take) => {
			await onDelta({ type: 'tool_use_start', id: 'a', name: 'echo' });
			return undefined;
		};
		const { events } = await played([half, calling(echoCall('a')), 'done'], { tools: [echo] });
		expect(only(events, 'tool_result').map(({ id }) => id)).toEqual(['a']);
	});
});

describe('the limit of restarts', () => {
	test('is maxRetries, and retries before the first delta count too', async () => {
		const { error, events, requests } = await played([cut(reset), httpError(503), cut(reset, 'Last'), 'never']);
		expect(error?.code).toBe('network');
		expect(requests).toHaveLength(3);
		expect(only(events, 'turn.restarted')).toHaveLength(1);
		expect(shownBy(events)).toBe('Last');
		expect(events.at(-1)?.type).toBe('error');
	});

	test('is 0 if maxRetries is 0, and the shown part of the reply stays', async () => {
		const { error, events, requests } = await played([cut(reset), 'never'], { maxRetries: 0 });
		expect(error?.code).toBe('network');
		expect(requests).toHaveLength(1);
		expect(only(events, 'turn.restarted')).toEqual([]);
		expect(readText(events)).toBe('Half of');
	});

	test('leads to a fallback when it is reached', async () => {
		const options = { maxRetries: 0, fallbacks: ['scripted-b'] };
		const { result, events, requests } = await played([cut(reset), 'Whole.'], options);
		expect(result?.text).toBe('Whole.');
		expect(requests.map(({ model }) => model)).toEqual(['scripted', 'scripted-b']);
		expect(shownBy(events)).toBe('Whole.');
	});
});

test.each([
	['a permanent error', httpError(400)],
	['a refused request', new RunletError('content_filtered', 'no')],
	['a quota that is used up', new RunletError('rate_limited', 'no', { insufficientQuota: true })],
	['an unexpected error', new Error('a bug')],
])('a turn is not restarted after %s', async (_, failure) => {
	const { error, events, requests } = await played([cut(failure), 'never'], { fallbacks: ['scripted-b'] });
	expect(error).toBeDefined();
	expect(requests).toHaveLength(1);
	expect(readText(events)).toBe('Half of');
});

test('a turn that ends with a refusal is not restarted', async () => {
	const { result, requests } = await played([{ text: 'No.', stopReason: 'refusal' }, 'never']);
	expect(result?.metadata.stopReason).toBe('refusal');
	expect(requests).toHaveLength(1);
});

test('a cancellation before a restart ends the run, and the shown part stays', async () => {
	const stop = new AbortController();
	const lost = async (_: unknown, onDelta: Take) => {
		await onDelta({ type: 'text', text: 'Half' });
		setTimeout(() => stop.abort(), 10);
		return httpError(503, { headers: { 'retry-after': '5' } });
	};
	const { error, events, requests } = await played([lost, 'never'], { signal: stop.signal });
	expect(error?.code).toBe('cancelled');
	expect(requests).toHaveLength(1);
	expect(shownBy(events)).toBe('Half');
});

describe('the meter', () => {
	test('charges a failed attempt before it reserves the next attempt', async () => {
		const told: unknown[] = [];
		const meter: ChatOptions['meter'] = {
			reserve: () => {
				told.push('reserve');
				return undefined;
			},
			lost: (usage, isCut) => void told.push(['lost', usage?.inputTokens, isCut]),
		};
		const usage = { inputTokens: 10, outputTokens: 2 };
		const failed = new RunletError('interrupted', 'cut', { usage });
		const { result } = await played([cut(failed), { text: 'Whole.', usage }], { meter });
		expect(told).toEqual(['reserve', ['lost', 10, true], 'reserve']);
		expect(result?.usage).toEqual({ inputTokens: 20, outputTokens: 4 });
		expect(result?.steps[0]?.usage).toEqual({ inputTokens: 20, outputTokens: 4 });
	});

	test('ends the run if it refuses the next attempt, and the shown part stays', async () => {
		let asked = 0;
		const meter: ChatOptions['meter'] = {
			reserve: () => {
				if (asked++ > 0) throw new RunletError('budget_exceeded', 'no more');
				return undefined;
			},
			lost: () => {},
		};
		const { error, events, requests } = await played([cut(reset), 'never'], { meter });
		expect(error?.code).toBe('budget_exceeded');
		expect(requests).toHaveLength(1);
		expect(shownBy(events)).toBe('Half of');
	});
});

test('warnings of a restarted turn are emitted again, but stored only once', async () => {
	const stored: unknown[] = [];
	const repeated: unknown[] = [];
	const { events } = await played([cut(reset), 'Whole.'], {
		maxContextTokens: 20,
		warnContextPct: 0.01,
		onRestart: (iteration, sides) => void repeated.push([iteration, sides.length]),
		onMessage: (message, about) => void stored.push([message.role, about.before.length]),
	});
	expect(events.map(({ type }) => type)).toEqual([
		...['run.started', 'warning', 'text', 'retry', 'turn.restarted', 'warning', 'text', 'stop', 'step', 'done'],
	]);
	expect(repeated).toEqual([[1, 1]]);
	expect(stored).toEqual([['assistant', 1]]);
});

describe('a reader of deltas', () => {
	const options = () => ({ model: 'scripted', providers: [providers.scripted([cut(reset), 'Whole.'])] });

	test('gets turn.restarted from runLoopStream', async () => {
		let text = '';
		const taken = chat.runLoopStream(options(), 'Hello', (delta) => {
			if (delta.type === 'text') text += delta.text;
			if (delta.type === 'turn.restarted') text = '';
		});
		expect(await settled(taken)).toBe('Whole.');
		expect(text).toBe('Whole.');
	});

	test('gets turn.restarted from emit', async () => {
		const types: unknown[] = [];
		const emit = (_: string, record: unknown) => types.push(Reflect.get(Object(record), 'type'));
		await settled(chat.runLoopStream({ ...options(), emit, emitStreamDeltas: true }, 'Hello'));
		expect(types).toEqual(['text', 'turn.restarted', 'text', 'stop']);
	});

	test("gets only the restarted turn's text from a loop without streaming", async () => {
		expect(await settled(chat.runLoop(options(), 'Hello').catch((error: unknown) => error))).toBe('Whole.');
	});
});
