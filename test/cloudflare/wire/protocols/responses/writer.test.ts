import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createHead } from '../../../../../src/cloudflare/wire/protocols/responses/head.ts';
import { type ResponseEvent, ResponseWriter } from '../../../../../src/cloudflare/wire/protocols/responses/writer.ts';
import type { RunEvent } from '../../../../../src/core/chat/index.ts';

const place = { session: 'ab'.repeat(32), run: 3 };

const head = createHead(
	{
		model: 'desk',
		input: 'Go',
		background: false,
		store: true,
		stream: true,
		tools: [],
		tool_choice: 'auto',
		parallel_tool_calls: true,
	},
	1_795_262_400,
);

const open = (seen?: number) => new ResponseWriter({ head, place, agent: 'desk', seen, endedAt: 0 });

function write(events: readonly RunEvent[], seen?: number): ResponseEvent[] {
	const writer = open(seen);
	return events.flatMap((event) => writer.write(event));
}

const started: RunEvent = { type: 'run.started', runId: 'run_1', attempt: 1 };

interface Turn {
	/** Thinking and text in turns. The first is thinking. */
	readonly pieces: readonly string[];
	readonly calls: readonly { readonly output: string; readonly isError: boolean }[];
	readonly sources: readonly string[];
	readonly restarts: number;
}

const turn: fc.Arbitrary<Turn> = fc.record({
	pieces: fc.array(fc.string({ maxLength: 12, unit: 'binary' }), { maxLength: 4 }),
	calls: fc.array(fc.record({ output: fc.string(), isError: fc.boolean() }), { maxLength: 3 }),
	sources: fc.array(fc.constantFrom('https://a.example/', 'https://b.example/', 'ftp://c'), { maxLength: 3 }),
	restarts: fc.constant(0),
});

const usage = { inputTokens: 3, outputTokens: 2 };

const ends: readonly RunEvent[] = [
	{ type: 'done', text: 'x', usage },
	{ type: 'halted', reason: 'Enough.' },
	{ type: 'cancelled' },
	{ type: 'error', code: 'timeout', message: 'Too slow.' },
	{ type: 'awaiting', status: 'awaiting_user', question: { callId: 'q', question: 'Which?' } },
	{
		type: 'awaiting',
		status: 'awaiting_tools',
		toolCalls: [
			{ id: 'w1', name: 'locate', input: { deep: true } },
			{ id: 'w2', name: 'pay', input: { amount: 3 }, kind: 'approval' },
		],
	},
];

const run = fc.record({ turns: fc.array(turn, { maxLength: 4 }), end: fc.constantFrom(...ends) });

type Run = typeof run extends fc.Arbitrary<infer R> ? R : never;

/** Makes the events of a turn as history has them: whole texts, and results in the order of the calls. */
function toTurnEvents({ pieces, calls, sources, restarts }: Turn, n: number): RunEvent[] {
	const ids = calls.map((_, index) => `call_${n}_${index}`);
	const results = calls.map((call, index) => ({ id: ids[index] ?? '', ...call }));
	const toolCalls = ids.map((id, index) => ({ id, name: `tool_${index}`, input: { index } }));
	return [
		...Array.from({ length: restarts }, () => ({ type: 'turn.restarted' as const, iteration: n })),
		...pieces.flatMap((text, index): RunEvent[] =>
			text === '' ? [] : [{ type: index % 2 === 0 ? 'reasoning' : 'text', text }],
		),
		...sources.map((url, index) => ({ type: 'source' as const, id: `${index}`, url })),
		...toolCalls.flatMap(({ id, name, input }): RunEvent[] => [
			{ type: 'tool_use_start', id, name },
			{ type: 'tool_use_input', id, partialInputJson: JSON.stringify(input) },
			{ type: 'tool_use_end', id },
		]),
		{ type: 'stop', reason: 'end_turn', usage },
		...results.map((result) => ({ type: 'tool_result' as const, ...result })),
		{
			type: 'step',
			iteration: n,
			model: 'staged',
			text: '',
			toolCalls,
			toolResults: results,
			stopReason: 'end_turn',
			usage,
		},
	];
}

function toEvents({ turns, end }: Run): RunEvent[] {
	return [started, ...turns.flatMap((one, index) => toTurnEvents(one, index + 1)), end];
}

/** Cuts the texts of events into pieces of the given lengths, as a model writes them. */
function cut(events: readonly RunEvent[], lengths: readonly number[]): RunEvent[] {
	let next = 0;
	return events.flatMap((event): RunEvent[] => {
		if (event.type !== 'text' && event.type !== 'reasoning') return [event];
		const cuts: RunEvent[] = [];
		for (let rest = event.text; rest !== ''; ) {
			const length = Math.max(1, lengths[next++ % lengths.length] ?? 1);
			cuts.push({ type: event.type, text: rest.slice(0, length) });
			rest = rest.slice(length);
		}
		return cuts;
	});
}

/** Moves the result of the first call of each turn behind the others, as when it takes longest. */
function delay(events: readonly RunEvent[]): RunEvent[] {
	const moved = [...events];
	for (let index = 1; index < moved.length; index++) {
		const [before, one] = [moved[index - 1], moved[index]];
		if (before?.type !== 'tool_result' || one?.type !== 'tool_result') continue;
		[moved[index - 1], moved[index]] = [one, before];
	}
	return moved;
}

/** Numbers each character of a text and each other event, so that streams with other cuts are equal. */
function toUnits(events: readonly ResponseEvent[]): Map<number, string> {
	const units = new Map<number, string>();
	for (const { sequence_number: last, delta, ...event } of events) {
		const isText = event.type.endsWith('_text.delta');
		const signs = isText && typeof delta === 'string' ? [...Array(delta.length).keys()] : [0];
		for (const at of signs) {
			const sign = isText ? String(delta).charAt(at) : delta;
			const number = isText ? last - signs.length + 1 + at : last;
			expect(units.has(number), `${number} twice`).toBe(false);
			units.set(number, JSON.stringify([event, sign]));
		}
	}
	return units;
}

/** Builds the response from the events in the way of a client. */
function fold(events: readonly ResponseEvent[]) {
	const texts = new Map<unknown, string>();
	const output: unknown[] = [];
	for (const event of events) {
		const { item_id: id, text } = event;
		if (event.type.endsWith('_text.delta')) texts.set(id, (texts.get(id) ?? '') + String(event.delta));
		if (event.type.endsWith('_text.done')) expect(text).toBe(texts.get(id) ?? '');
		if (event.type === 'response.output_item.done') {
			expect(event.output_index).toBe(output.length);
			output.push(event.item);
		}
	}
	return output;
}

const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });

describe('the events of a response', () => {
	test('lead to the output of the whole response', () => {
		fc.assert(
			fc.property(run, lengths, (one, cuts) => {
				const events = write(cut(toEvents(one), cuts));
				const last = events.at(-1)?.response;
				expect(last).toMatchObject({ output: fold(events) });
				const writer = open();
				for (const event of toEvents(one)) writer.write(event);
				expect(last).toEqual(writer.response);
			}),
		);
	});

	test('have the same numbers live and from history', () => {
		fc.assert(
			fc.property(run, lengths, (one, cuts) => {
				const history = toEvents(one);
				expect(toUnits(write(delay(cut(history, cuts))))).toEqual(toUnits(write(history)));
			}),
		);
	});

	test('have rising numbers without a gap', () => {
		fc.assert(
			fc.property(run, (one) => {
				const numbers = [...toUnits(write(toEvents(one))).keys()];
				expect(numbers).toEqual(numbers.map((_, index) => index));
			}),
		);
	});

	test('go on behind any number, and nothing is lost or doubled', () => {
		fc.assert(
			fc.property(run, lengths, fc.nat(), (one, cuts, where) => {
				const history = toEvents(one);
				const all = toUnits(write(history));
				const seen = where % all.size;
				const rest = toUnits(write(cut(history, cuts), seen));
				expect(rest).toEqual(new Map([...all].filter(([number]) => number > seen)));
			}),
		);
	});

	test('have numbers at most 15 digits long after many restarts', () => {
		const restarted = Array.from({ length: 50 }, () => ({ ...plain, restarts: 20 }));
		const last = write(toEvents({ turns: restarted, end: done })).at(-1);
		expect(Number.isSafeInteger(last?.sequence_number)).toBe(true);
	});
});

const plain: Turn = { pieces: ['', 'Hello there.'], calls: [], sources: [], restarts: 0 };
const done: RunEvent = { type: 'done', text: 'Hello there.', usage };
const restarted: RunEvent = { type: 'turn.restarted', iteration: 1 };

const thinking = fc.record({
	thought: fc.string({ minLength: 1, maxLength: 8 }),
	said: fc.string({ minLength: 1, maxLength: 8 }),
	shown: fc.integer({ min: 0, max: 16 }),
});

/** Returns the beginning of a turn, with so many characters. */
function begin(pieces: readonly RunEvent[], length: number): RunEvent[] {
	let left = length;
	return pieces.flatMap((event): RunEvent[] => {
		if (event.type !== 'text' && event.type !== 'reasoning') return [];
		const text = event.text.slice(0, left);
		left -= text.length;
		return text === '' ? [] : [{ ...event, text }];
	});
}

describe('a turn that restarts', () => {
	test('goes on where it was if it says the same again, with the numbers of the stored run', () => {
		fc.assert(
			fc.property(thinking, lengths, ({ thought, said, shown }, cuts) => {
				const turn = { ...plain, pieces: [thought, said] };
				const whole = toTurnEvents(turn, 1);
				const live = [started, ...begin(whole, shown), restarted, ...cut(whole, cuts), done];
				const stored = toUnits(write(toEvents({ turns: [{ ...turn, restarts: 1 }], end: done })));
				const events = write(live);
				expect(fold(events)).toHaveLength(2);
				const units = [...toUnits(events)].filter(([number]) => number > 2 ** 32);
				for (const [number, unit] of units) expect(stored.get(number)).toBe(unit);
				expect(events.at(-1)?.type).toBe('response.completed');
			}),
		);
	});

	test('ends the stream with interrupted if it says something else', () => {
		const live = (text: string): RunEvent[] => [
			started,
			{ type: 'text', text: 'Hel' },
			restarted,
			{ type: 'text', text },
		];
		const code = 'interrupted';
		expect(write(live('lo')).at(-1)).toMatchObject({
			type: 'error',
			code,
			error: { type: 'server_error', code },
		});
		expect(write(live('Hello')).at(-1)).toMatchObject({ delta: 'lo' });
		const stop: RunEvent = { type: 'stop', reason: 'end_turn' };
		expect(write([...live('He'), stop]).at(-1)).toMatchObject({ type: 'error', code: 'interrupted' });
	});

	test('may think something else, and the last event of the thinking has all of it', () => {
		const events = write([
			started,
			{ type: 'reasoning', text: 'First I look at the map.' },
			restarted,
			{ type: 'reasoning', text: 'No map.' },
			{ type: 'text', text: 'North.' },
			{ type: 'stop', reason: 'end_turn' },
			done,
		]);
		expect(events.find(({ type }) => type === 'response.reasoning_summary_text.done')).toMatchObject({
			text: 'No map.',
		});
		const said = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta);
		expect(said.join('')).toBe('North.');
	});

	test('ends the stream of a reader who has text that the crash lost', () => {
		const stored = [started, restarted, ...toTurnEvents(plain, 1), done];
		expect(write(stored, 6)).toEqual([expect.objectContaining({ type: 'error', code: 'interrupted' })]);
		expect(write(stored, 1).at(-1)?.type).toBe('response.completed');
	});
});
