import { expect, test } from 'vitest';
import type { Message, Session } from '../../src/client/index.ts';
import { describeUsage } from '../../src/client/words.ts';
import { createHistories, loadTrace } from '../../src/page/trace/load.ts';
import { toRuns } from '../../src/page/trace/spans.ts';
import { createWaits } from '../../src/page/trace/waits.ts';

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
	bytes: 0,
};

/** Shows each span with its start and end in milliseconds since the first message. */
const show = (...given: Parameters<typeof toRuns>) =>
	toRuns(...given).map(({ title, spans }) => [
		title,
		...spans.map(
			({ name, depth, start: from, end, state }) =>
				`${depth} ${name} ${from - start}-${end === undefined ? '' : end - start} ${state}`,
		),
	]);

test('a turn starts before its message, by the latency of the model, and a call ends with its result', () => {
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

test('a provider’s tool is shown within its turn, and its cost is part of the cost of the run', () => {
	const [said, thought] = [say(0, 'Go.'), think(500, 400)];
	if (thought.role !== 'assistant' || thought.turn === undefined) throw new Error('no turn');
	const call = { id: 's1', name: 'web_search', output: [] };
	const providerCalls = [call, { ...call, id: 'f1', name: 'web_fetch', isError: true }, { id: 'x1', name: 'code' }];
	const usage = { ...thought.turn.usage, units: { web_searches: 2 } };
	const searched = { ...thought, providerCalls, turn: { ...thought.turn, usage } };
	expect(show(state('completed'), [said, searched])).toEqual([
		[
			'Go.',
			'0 Turn 1: demo 100-500 done',
			...['1 web_search 100-500 done', '1 web_fetch 100-500 failed', '1 code 100-500 left'],
		],
	]);
	const sum = (...messages: Message[]) => describeUsage(toRuns(state('completed'), messages)[0]?.usage);
	expect(sum(said, searched, searched)).toBe('$1.00 · 20 tokens in, 4 out · 4 web searches');
	const unpriced = { ...searched, turn: { ...searched.turn, usage: { ...usage, costUsd: undefined } } };
	expect(sum(said, searched, unpriced)).toBe('$0.50 and unknown · 20 tokens in, 4 out · 4 web searches');
	expect(sum(said, unpriced)).toBe('cost unknown · 10 tokens in, 2 out · 2 web searches');
});

test('a turn shows why fewer tokens came from the provider’s cache', () => {
	const [said, thought] = [say(0, 'Go.'), think(100, 100)];
	if (thought.role !== 'assistant' || thought.turn === undefined) throw new Error('no turn');
	const missed = { ...thought, turn: { ...thought.turn, cacheMiss: 'expired' as const } };
	expect(toRuns(state('completed'), [said, missed])[0]?.spans.map(({ cacheMiss }) => cacheMiss)).toEqual(['expired']);
});

test('an open call has no end time, and a running run without an open call shows an unfinished next turn', () => {
	const messages = [say(0, 'Go.'), think(500, 500, ['a'])];
	expect(show(state('running'), messages)).toEqual([['Go.', '0 Turn 1: demo 0-500 done', '1 tool-a 500- running']]);
	expect(show(state('running'), [...messages, answer(700, 'a')])[0]?.at(-1)).toBe('0 Next turn: demo 700- running');
	expect(show(state('awaiting_tools'), messages)[0]?.at(-1)).toBe('1 tool-a 500- waiting');
	expect(show(state('cancelled'), messages)[0]?.at(-1)).toBe('1 tool-a 500- left');
});

test('a call that a person answers a day later appears in two runs, and its time excludes the wait', () => {
	const day = 86_400_000;
	const messages = [say(0, 'Go.'), think(500, 500, ['a']), answer(day, 'a', 'r2'), think(day + 300, 200, [], 'r2')];
	expect(show(state('completed', 'r2'), messages)).toEqual([
		['Go.', '0 Turn 1: demo 0-500 done', '1 tool-a 500- later'],
		[
			'',
			`0 tool-a waited for a person 500-${day} done`,
			`0 tool-a ${day}-${day} done`,
			`0 Turn 1: demo ${day + 100}-${day + 300} done`,
		],
	]);
	const times = new Map([['a', { start: start + day - 400, wait: { start: start + 600, end: start + day - 500 } }]]);
	expect(show(state('completed', 'r2'), messages, { times })[1]).toEqual([
		'',
		`0 tool-a waited for a person 600-${day - 500} done`,
		`0 tool-a ${day - 400}-${day} done`,
		`0 Turn 1: demo ${day + 100}-${day + 300} done`,
	]);
	expect(toRuns(state('completed', 'r2'), messages, { times }).map(({ waitedMs }) => waitedMs)).toEqual([
		0,
		day - 1_100,
	]);
});

test('a child and its calls are below the call that started the child', () => {
	const child = toRuns(state('completed', 'c'), [say(600, 'Do.', 'c'), think(800, 150, [], 'c')]);
	const children = new Map([['a', [{ id: 's2', agent: 'helper', runs: child }]]]);
	const messages = [say(0, 'Go.'), think(500, 500, ['a']), answer(900, 'a')];
	expect(show(state('completed'), messages, { children })[0]?.slice(2)).toEqual([
		'1 tool-a 500-900 done',
		'2 helper 600-800 done',
		'3 Turn 1: demo 650-800 done',
	]);
});

/** Makes a client of stored messages, and records its requests. */
function serve(stored: Readonly<Record<string, readonly Message[]>>, sessions: readonly Session[] = [session]) {
	const asked: string[] = [];
	const signal = new AbortController().signal;
	const client = {
		getSession: async (id: string) => sessions.find((one) => one.id === id) ?? session,
		listMessages: async (id: string, { from }: { readonly from?: string } = {}) => {
			asked.push(`${id} from ${from}`);
			const messages = stored[id] ?? [];
			return messages.slice(messages.findIndex((one) => one.id === from));
		},
		listEarlier: async (
			id: string,
			{ before, limit = 100 }: { readonly before?: string; readonly limit?: number } = {},
		) => {
			asked.push(`${id} before ${before ?? 'now'}`);
			const messages = stored[id] ?? [];
			const end = before === undefined ? messages.length : messages.findIndex((one) => one.id === before);
			const start = Math.max(0, end - limit);
			return { messages: messages.slice(start, end), cursor: start === 0 ? undefined : messages[start]?.id };
		},
	};
	const histories = createHistories(client, signal);
	const waits = createWaits({ getTrace: () => Promise.reject(new Error('No right.')) }, signal);
	return { asked, histories, read: (id = 's1') => loadTrace(client, id, { histories, waits, signal }) };
}

test('reads only the newest turn again, because the results of its calls arrive in any order', async () => {
	const turns = [say(0, 'Go.'), think(100, 100, ['z']), answer(200, 'z'), think(500, 250, ['a', 'b'])];
	const [first, second] = [answer(900, 'a'), answer(901, 'b')];
	const stored = { s1: [...turns, second] };
	const { asked, read } = serve(stored);
	const readSpans = async () => (await read()).runs[0]?.spans.map(({ name, state }) => `${name} ${state}`);
	expect(await readSpans()).toContain('tool-a running');
	stored.s1 = [...turns, first, second];
	expect(await readSpans()).toEqual([
		...[
			'Turn 1: demo done',
			'tool-z done',
			'Turn 1: demo done',
			'tool-a done',
			'tool-b done',
			'Next turn: demo running',
		],
	]);
	expect(asked).toEqual(['s1 before now', 's1 from 500']);
});

test('reads the newest runs of a long session completely, and older runs on request', async () => {
	const runs = Array.from({ length: 130 }, (_, n) => [
		say(n * 1_000, `Message ${n}`, `r${n}`),
		think(n * 1_000 + 500, 100, [`c${n}`], `r${n}`),
		answer(n * 1_000 + 700, `c${n}`, `r${n}`),
	]);
	const { asked, histories, read } = serve({ s1: runs.flat() });
	const readTitles = async () => {
		const { runs, hasOlder } = await read();
		for (const { spans } of runs) expect(spans.length).toBeGreaterThanOrEqual(2);
		return [runs.length, runs[0]?.title, runs.at(-1)?.title, hasOlder];
	};
	expect(await readTitles()).toEqual([33, 'Message 97', 'Message 129', true]);
	await histories.readEarlier('s1');
	expect(await readTitles()).toEqual([66, 'Message 64', 'Message 129', true]);
	for (let n = 0; n < 3; n += 1) await histories.readEarlier('s1');
	expect(await readTitles()).toEqual([130, 'Message 0', 'Message 129', false]);
	expect(asked.filter((what) => what.includes('before'))).toHaveLength(4);
});

test('shows the loaded part of a run that has more messages than one response contains', async () => {
	const long = [say(0, 'Go.'), ...Array.from({ length: 150 }, (_, n) => think(1_000 * (n + 1), 10))];
	const { histories, read } = serve({ s1: long });
	expect((await read()).runs.map(({ spans }) => spans.length)).toEqual([101]);
	await histories.readEarlier('s1');
	const { runs, hasOlder } = await read();
	expect([runs[0]?.title, runs[0]?.spans.length, hasOlder]).toEqual(['Go.', 151, false]);
});

test('a background child is below its call, and does not lengthen the run', async () => {
	const parent: Session = {
		...session,
		run: { id: 'r1', status: 'completed' },
		children: [{ id: 's2', agent: 'helper', callId: 'a', background: true }],
	};
	const child: Session = { ...session, id: 's2', run: { id: 'r2', status: 'completed' } };
	const { read } = serve(
		{
			s1: [say(0, 'Go.'), think(500, 500, ['a']), answer(600, 'a'), think(800, 100)],
			s2: [say(550, 'Work.', 'r2'), think(9_000, 8_000, [], 'r2')],
		},
		[parent, child],
	);
	const [run] = (await read()).runs;
	expect(run?.spans.map(({ name, depth }) => `${depth} ${name}`)).toEqual([
		...['0 Turn 1: demo', '1 tool-a', '2 helper, in the background', '3 Turn 1: demo', '0 Turn 1: demo'],
	]);
	expect((run?.end ?? 0) - (run?.start ?? 0)).toBe(800);
});
