import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
	advance,
	type Cursor,
	createCallSorter,
	formatEventId,
	parseEventId,
	RunLog,
	toStart,
} from '../../../src/cloudflare/session/events/log.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';
import { joined, run } from './run-events.ts';

/** The parts of a run, in an order that is the same for a live stream and a stream from the store. */
function parts(events: readonly RunEvent[]): unknown {
	const all = (type: 'text' | 'reasoning') =>
		events.flatMap((event) => (event.type === type ? [event.text] : [])).join('');
	const others = events.filter(({ type }) => type !== 'text' && type !== 'reasoning' && type !== 'tool_use_input');
	const inputs = events.flatMap((event) => (event.type === 'tool_use_input' ? [event.partialInputJson] : [])).join('');
	return {
		text: all('text'),
		reasoning: all('reasoning'),
		inputs,
		others: others.map((event) => JSON.stringify(event)).sort(),
	};
}

/**
 * The events as the store returns them. Each turn has all reasoning, then all text, the calls, and the rest.
 * Notes and task lists come before results.
 */
function rebuilt(events: readonly RunEvent[]): RunEvent[] {
	const out: RunEvent[] = [];
	let open: RunEvent[] = [];
	const of = (...types: readonly string[]) => open.filter(({ type }) => types.includes(type));
	for (const event of events) {
		open.push(event);
		if (event.type !== 'step' && event.type !== 'done') continue;
		out.push(
			...of('run.started'),
			...of('reasoning'),
			...of('text'),
			...of('tool_use_start', 'tool_use_input', 'tool_use_end'),
			...of('stop', 'note', 'tasks'),
			...of('tool_result'),
			...of('step', 'done'),
		);
		open = [];
	}
	return joined(out);
}

function readAll(log: RunLog, from = toStart(1), limit?: number) {
	const cursor = log.cursor(from);
	const out = [];
	for (let batch = log.read(cursor, limit); batch.length > 0; batch = log.read(cursor, limit)) out.push(...batch);
	expect(log.settle(cursor)).toBe(true);
	return out;
}

test('an event id that is formatted as text parses back to the same position', () => {
	fc.assert(
		fc.property(run, (events) => {
			let position = toStart(1);
			for (const event of events) {
				position = advance(position, event);
				expect(parseEventId(formatEventId(position))).toEqual(position);
			}
		}),
	);
});

test('a reader that disconnects anywhere gets the whole run, for any batch size', () => {
	fc.assert(
		fc.property(run, fc.nat(), fc.integer({ min: 1, max: 30 }), (events, at, limit) => {
			const log = new RunLog(1, events);
			const first = readAll(log, undefined, limit);
			expect(joined(first.map(({ event }) => event))).toEqual(joined(events));
			const cut = at % first.length;
			const rest = readAll(log, first[cut]?.id, 1_000);
			expect(joined([...first.slice(0, cut + 1), ...rest].map(({ event }) => event))).toEqual(joined(events));
		}),
	);
});

test('an event id means the same position in the live stream and in the stored stream', () => {
	fc.assert(
		fc.property(run, fc.nat(), fc.integer({ min: 1, max: 30 }), (events, at, limit) => {
			const live = readAll(new RunLog(1, events), undefined, limit);
			const cut = at % live.length;
			const rest = readAll(new RunLog(1, rebuilt(events)), live[cut]?.id);
			expect(parts([...live.slice(0, cut + 1), ...rest].map(({ event }) => event))).toEqual(parts(events));
		}),
	);
});

test('fast, slow and late readers get the same run', async () => {
	await fc.assert(
		fc.asyncProperty(run, fc.array(fc.boolean(), { minLength: 1 }), async (events, reads) => {
			const log = new RunLog(1);
			const cursor = log.cursor();
			const seen: RunEvent[] = [];
			for (const [index, event] of events.entries()) {
				log.append([event]);
				if (reads[index % reads.length]) seen.push(...log.read(cursor, 7).map((stamped) => stamped.event));
			}
			for (let batch = log.read(cursor); batch.length > 0; batch = log.read(cursor))
				seen.push(...batch.map((stamped) => stamped.event));
			expect(joined(seen)).toEqual(joined(events));
		}),
	);
});

test('each reader of a crowd gets the whole run, wherever it joins', async () => {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	await fc.assert(
		fc.asyncProperty(run, fc.array(fc.nat(), { minLength: 1, maxLength: 8 }), async (events, joins) => {
			const log = new RunLog(1);
			const readers: { readonly cursor: Cursor; readonly seen: RunEvent[] }[] = [];
			const join = () => readers.push({ cursor: log.cursor(), seen: [] });
			for (let n = 0; n < 60; n++) join();
			for (const [index, event] of events.entries()) {
				if (joins.some((at) => at % events.length === index)) join();
				for (const _ of readers) void log.change();
				log.append([event]);
				await vi.advanceTimersByTimeAsync(index % 3 === 0 ? 0 : 150);
				// The other readers come back later.
				const awake = index % 4 === 0 ? readers.slice(0, 10) : readers;
				for (const { cursor, seen } of awake) seen.push(...log.read(cursor, 7).map((entry) => entry.event));
			}
			for (const { cursor, seen } of readers) {
				for (let batch = log.read(cursor); batch.length > 0; batch = log.read(cursor))
					seen.push(...batch.map((entry) => entry.event));
				expect(joined(seen)).toEqual(joined(events));
			}
		}),
		{ numRuns: 30 },
	);
});

test('more than 50 readers get the pieces of a text together after 150 ms, and everything else at once', async () => {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const log = new RunLog(1, [{ type: 'run.started', runId: 'r', attempt: 1 }]);
	const wait = (readers: number) => {
		let woken = 0;
		for (let n = 0; n < readers; n++) void log.change().then(() => woken++);
		return () => woken;
	};
	const few = wait(50);
	log.append([{ type: 'text', text: 'a' }]);
	await vi.advanceTimersByTimeAsync(0);
	expect(few()).toBe(50);
	const many = wait(51);
	log.append([{ type: 'text', text: 'b' }]);
	await vi.advanceTimersByTimeAsync(149);
	expect(many()).toBe(0);
	log.append([{ type: 'text', text: 'c' }]);
	await vi.advanceTimersByTimeAsync(1);
	expect(many()).toBe(51);
	const cursors = [log.cursor(), log.cursor()];
	const [first, second] = cursors.map((cursor) => log.read(cursor));
	expect(first).toBe(second);
	const last = wait(51);
	log.append([{ type: 'text', text: 'd' }]);
	log.append([{ type: 'done', text: 'abcd', usage: {} }]);
	await vi.advanceTimersByTimeAsync(0);
	expect(last()).toBe(51);
	expect(vi.getTimerCount()).toBe(0);
});

test('an unfinished turn with any number of deltas has a limited number of events in memory', () => {
	const log = new RunLog(1);
	const cursor = log.cursor();
	let read = 0;
	for (let n = 0; n < 50_000; n++) {
		log.append([{ type: 'text', text: 'x' }]);
		if (n % 3 === 0) read += textLength(log.read(cursor));
	}
	read += textLength(log.read(cursor));
	expect(read).toBe(50_000);
	expect(log.size).toBeLessThan(10_000);
});

test('an event of an unknown kind reaches a live reader without an event id', () => {
	const log = new RunLog(1, [{ type: 'text', text: 'a' }]);
	const cursor = log.cursor();
	log.read(cursor);
	log.append([
		{ type: 'acme:citation', url: 'https://example.com' },
		{ type: 'text', text: 'b' },
	]);
	const read = log.read(cursor);
	expect(read.map(({ event, id }) => [event.type, id?.text])).toEqual([
		['acme:citation', undefined],
		['text', 2],
	]);
});

test('a draft has the provider’s tools and sources, and only the beginning of a long output', () => {
	const call = { type: 'provider_tool', id: 's1', name: 'web_search', output: 'found' } as const;
	const source = { type: 'source', id: 'p1', title: 'report.pdf' } as const;
	const long = { ...call, id: 'f1', output: ['x'.repeat(20_000)] };
	const log = new RunLog(1, [call, { type: 'text', text: 'a' }, source, long]);
	const draft = log.draft(100_000);
	expect(draft.slice(0, 3)).toEqual([call, { type: 'text', text: 'a' }, source]);
	expect(draft[3]).toEqual({ ...long, output: expect.stringMatching(/^\["x{9998}…$/) });
	expect(log.draft(50)).toEqual([call]);
});

test.each<RunEvent>([
	{ type: 'tool_stack', id: 'c', stack: 'Error' },
	{ type: 'retry', model: 'm', code: 'overloaded', retry: 1, of: 2, afterMs: 500 },
])('a $type event has no id, so later events have the same ids in a replay without this event', (passing) => {
	const before: readonly RunEvent[] = [
		{ type: 'run.started', runId: 'r', attempt: 1 },
		{ type: 'text', text: 'Let me see.' },
		{ type: 'stop', reason: 'tool_use', usage: {} },
	];
	const behind: readonly RunEvent[] = [
		{ type: 'tool_result', id: 'c', output: 'No luck.', isError: true },
		{ type: 'done', text: '', usage: {} },
	];
	const live = readAll(new RunLog(1, [...before, passing, ...behind]));
	const again = new RunLog(1, [...before, ...behind]);
	expect(live.filter(({ event }) => event !== passing)).toEqual(readAll(again));
	expect(live[3]).toEqual({ event: passing, id: undefined });
	expect(readAll(again, live[2]?.id).map(({ event }) => event)).toEqual(behind);
});

test('a reader of a restarted turn sees the restart, and the new turn from its start', () => {
	const log = new RunLog(1, [
		{ type: 'run.started', runId: 'r', attempt: 2 },
		{ type: 'turn.restarted', iteration: 1 },
		{ type: 'text', text: 'anew' },
		{ type: 'done', text: 'anew', usage: {} },
	]);
	const rest = readAll(log, { ...toStart(1), items: 1, text: 3 }).map(({ event }) => event);
	expect(rest.map(({ type }) => type)).toEqual(['turn.restarted', 'text', 'done']);
});

function textLength(read: readonly { readonly event: RunEvent }[]): number {
	return read.reduce((sum, { event }) => sum + (event.type === 'text' ? event.text.length : 0), 0);
}

const readId = (event: RunEvent): string | undefined =>
	'id' in event && typeof event.id === 'string' ? event.id : undefined;

/** Calls whose pieces are mixed with texts. The pieces of each call are in order. Some calls have no end. */
const mixed = fc
	.array(fc.tuple(fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }), fc.boolean()), {
		minLength: 1,
		maxLength: 5,
	})
	.chain((calls) => {
		const queues = calls.map(([parts, ends], index): RunEvent[] => [
			{ type: 'tool_use_start', id: `c${index}`, name: 'tool' },
			...parts.map((partialInputJson): RunEvent => ({ type: 'tool_use_input', id: `c${index}`, partialInputJson })),
			...(ends ? [{ type: 'tool_use_end', id: `c${index}` } as const] : []),
		]);
		const total = queues.reduce((sum, queue) => sum + queue.length, 0);
		return fc.array(fc.nat({ max: 99 }), { minLength: total, maxLength: total }).map((picks) => {
			const left = queues.map((queue) => [...queue]);
			const out: RunEvent[] = [];
			for (const pick of picks) {
				const open = left.filter((queue) => queue.length > 0);
				const event = open[pick % open.length]?.shift();
				if (event !== undefined) out.push(event);
				if (pick % 7 === 0) out.push({ type: 'text', text: String(pick) });
			}
			return [...out, { type: 'stop', reason: 'tool_use', usage: {} } as const];
		});
	});

test('calls that are streamed simultaneously are emitted one after another, without loss', () => {
	fc.assert(
		fc.property(mixed, fc.integer({ min: 1, max: 5 }), (events, size) => {
			const inOrder = createCallSorter();
			const out: RunEvent[] = [];
			for (let at = 0; at < events.length; at += size) out.push(...inOrder(events.slice(at, at + size)));
			expect(out.map((event) => JSON.stringify(event)).sort()).toEqual(
				events.map((event) => JSON.stringify(event)).sort(),
			);
			const ids = out.flatMap((event) => readId(event) ?? []);
			expect(ids.filter((id, index) => id !== ids[index - 1])).toEqual([...new Set(ids)]);
			for (const id of new Set(ids)) {
				expect(out.filter((event) => readId(event) === id)).toEqual(events.filter((event) => readId(event) === id));
			}
			expect(out.at(-1)?.type).toBe('stop');
		}),
	);
});

test('events without calls pass unchanged', () => {
	const events: RunEvent[] = [{ type: 'text', text: 'a' }];
	expect(createCallSorter()(events)).toBe(events);
});
