import { expect, test } from 'vitest';
import type { Message, Session } from '../../src/client/index.ts';
import { loadTrace } from '../../src/page/trace/load.ts';
import { toRuns } from '../../src/page/trace/spans.ts';

const start = Date.parse('2026-11-23T12:00:00.000Z');
const at = (ms: number) => new Date(start + ms).toISOString();
const state = (status: NonNullable<Session['run']>['status'], id = 'r1') => ({ model: 'demo', run: { id, status } });

function say(ms: number, text: string, runId = 'r1'): Message {
	return { role: 'user', id: `${ms}`, runId, content: text, isInput: true, createdAt: at(ms) };
}
function think(ms: number, latencyMs: number, calls: readonly string[] = [], runId = 'r1'): Message {
	const usage = { inputTokens: 10, outputTokens: 2, costUsd: 0.5, latencyMs };
	const turn = { iteration: 1, model: 'demo', stopReason: 'end_turn', usage };
	const toolCalls = calls.map((id) => ({ id, name: `tool-${id}`, input: {} }));
	return { role: 'assistant', id: `${ms}`, runId, content: '', turn, toolCalls, createdAt: at(ms) };
}
function answer(ms: number, toolCallId: string, runId = 'r1'): Message {
	return { role: 'tool', id: `${ms}`, runId, toolCallId, content: 'x', createdAt: at(ms) };
}

const amount = { tokens: 0, usd: 0 };
const session: Session = {
	...{ id: 's1', agent: 'helper', model: 'demo', status: 'running', createdAt: at(0) },
	...{ run: { id: 'r1', status: 'running' }, budget: { limit: {}, spent: amount, reserved: amount, left: {} } },
};

/** Each span with when it began and ended, in milliseconds since the first message. */
const show = (...given: Parameters<typeof toRuns>) =>
	toRuns(...given).map(({ title, spans }) => [
		title,
		...spans.map(
			({ name, depth, start: from, end, state }) =>
				`${depth} ${name} ${from - start}-${end === undefined ? '' : end - start} ${state}`,
		),
	]);

test('a turn begins as long before its message as the model took, and its calls run from there to their results', () => {
	const messages = [say(0, 'Go.'), think(500, 400, ['a', 'b']), answer(600, 'b'), answer(900, 'a'), think(1_500, 550)];
	expect(show(state('completed'), messages)).toEqual([
		[
			'Go.',
			'0 Turn 1: demo 100-500 done',
			'1 tool-a 500-900 done',
			'1 tool-b 500-600 done',
			'0 Turn 1: demo 950-1500 done',
		],
	]);
	const [run] = toRuns(state('completed'), messages);
	expect(run).toMatchObject({ start, end: start + 1_500 });
	expect(run?.usage).toEqual({ inputTokens: 20, outputTokens: 4, costUsd: 1 });
});

test('what goes on has no end: the calls without a result, or else the next turn', () => {
	const messages = [say(0, 'Go.'), think(500, 500, ['a'])];
	expect(show(state('running'), messages)).toEqual([['Go.', '0 Turn 1: demo 0-500 done', '1 tool-a 500- running']]);
	expect(show(state('running'), [...messages, answer(700, 'a')])[0]?.at(-1)).toBe('0 Next turn: demo 700- running');
	expect(show(state('awaiting_tools'), messages)[0]?.at(-1)).toBe('1 tool-a 500- waiting');
	expect(show(state('cancelled'), messages)[0]?.at(-1)).toBe('1 tool-a 500- left');
});

test('a call that a person answers a day later is in both runs, and the day is in none', () => {
	const day = 86_400_000;
	const messages = [say(0, 'Go.'), think(500, 500, ['a']), answer(day, 'a', 'r2'), think(day + 300, 200, [], 'r2')];
	expect(show(state('completed', 'r2'), messages)).toEqual([
		['Go.', '0 Turn 1: demo 0-500 done', '1 tool-a 500- left'],
		['', `0 tool-a ${day}-${day} done`, `0 Turn 1: demo ${day + 100}-${day + 300} done`],
	]);
});

test('a child stands below its call, with what it did', () => {
	const child = toRuns(state('completed', 'c'), [say(600, 'Do.', 'c'), think(800, 150, [], 'c')]);
	const children = new Map([['a', [{ id: 's2', agent: 'helper', runs: child }]]]);
	const messages = [say(0, 'Go.'), think(500, 500, ['a']), answer(900, 'a')];
	expect(show(state('completed'), messages, children)[0]?.slice(2)).toEqual([
		'1 tool-a 500-900 done',
		'2 helper 600-800 done',
		'3 Turn 1: demo 650-800 done',
	]);
});

test('the newest turn is read again, because its results come in any order; what is before it is not', async () => {
	const turns = [say(0, 'Go.'), think(100, 100, ['z']), answer(200, 'z'), think(500, 250, ['a', 'b'])];
	const [first, second] = [answer(900, 'a'), answer(901, 'b')];
	let stored = [...turns, second];
	const asked: (string | undefined)[] = [];
	const client = {
		getSession: async () => session,
		listMessages: async (_: string, { from }: { readonly from?: string } = {}) => {
			asked.push(from);
			return stored.slice(stored.findIndex(({ id }) => id === (from ?? '0')));
		},
	};
	const reading = { histories: new Map(), signal: new AbortController().signal };
	const read = async () =>
		(await loadTrace(client, 's1', reading)).runs[0]?.spans.map(({ name, state }) => `${name} ${state}`);
	expect(await read()).toContain('tool-a running');
	stored = [...turns, first, second];
	expect(await read()).toEqual([
		...[
			'Turn 1: demo done',
			'tool-z done',
			'Turn 1: demo done',
			'tool-a done',
			'tool-b done',
			'Next turn: demo running',
		],
	]);
	expect(asked).toEqual([undefined, '500']);
});
