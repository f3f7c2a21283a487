import { env } from 'cloudflare:test';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { Question, WaitingCall } from '../../../src/core/chat/index.ts';
import type { ScriptedFn } from '../../../src/core/providers/index.ts';
import type { ToolCall } from '../../../src/core/tool/index.ts';
import { readEvents, restart, type WireEvent, type WireMessage } from '../../client.ts';
import { effects } from '../../effects.ts';
import { play } from '../../script.ts';
import { replaySession } from '../../testing/record.ts';
import worker from '../../worker.ts';

/** What happens during a model or a tool. */
type Meanwhile = 'nothing' | 'crash' | 'cancel' | 'queue' | 'steer' | 'forbidden';

interface RandomTurn {
	readonly reasoning: string;
	readonly text: string;
	readonly calls: readonly { readonly id: string; readonly kind: CallKind }[];
	/** The lengths of the streamed pieces. */
	readonly cuts: readonly number[];
	readonly fails: boolean;
	/** What happens after this many pieces. */
	readonly pause: { readonly behind: number; readonly meanwhile: Meanwhile } | undefined;
}

const callKinds = [
	...['echo', 'ask', 'stop', 'noisy', 'by_hand', 'pay', 'last', 'long', 'once', 'again', 'nothing'],
	...['once hangs', 'again hangs', 'once asks', 'once asks hangs'],
] as const;
type CallKind = (typeof callKinds)[number];

const turn: fc.Arbitrary<RandomTurn> = fc.record({
	reasoning: fc.oneof(fc.constant(''), fc.string({ maxLength: 12 })),
	text: fc.string({ maxLength: 30, unit: 'grapheme' }),
	calls: fc.oneof(
		fc.constant([]),
		fc.array(
			fc.record({
				id: fc.constantFrom('a', 'b', 'c', '__proto__', '\ud800', ''),
				kind: fc.constantFrom(...callKinds),
			}),
			{ maxLength: 4 },
		),
	),
	cuts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
	fails: fc.oneof({ weight: 7, arbitrary: fc.constant(false) }, fc.constant(true)),
	pause: fc
		.option(
			fc.record({
				behind: fc.nat({ max: 6 }),
				meanwhile: fc.constantFrom<Meanwhile[]>('nothing', 'crash', 'cancel', 'queue', 'queue', 'steer', 'forbidden'),
			}),
		)
		.map((pause) => pause ?? undefined),
});

const scenario = fc.record({
	turns: fc.array(turn, { minLength: 1, maxLength: 9 }),
	/** The choices of the person and of chance. */
	choices: fc.array(fc.nat({ max: 1_000 }), { minLength: 8, maxLength: 8 }),
});

/** A text in pieces of these lengths, repeated. */
function* pieces(text: string, cuts: readonly number[]): Generator<string> {
	for (let at = 0, n = 0; at < text.length; n++) {
		const length = cuts[n % cuts.length] ?? 1;
		yield text.slice(at, at + length);
		at += length;
	}
}

let keys = 0;

function readCall({ id, kind }: RandomTurn['calls'][number]): ToolCall {
	const [name = ''] = kind.split(' ');
	const key = `${kind} ${++keys}`;
	const hangs = kind.includes('hangs');
	const inputs: Readonly<Record<string, unknown>> = {
		echo: { text: `hi ${key}` },
		ask: { question: `${key}?` },
		noisy: { times: 2 },
		pay: { amount: 5 },
		last: { text: 'last' },
		long: { characters: 270_000 },
		once: { key, hangs },
		again: { key, hangs },
	};
	return { id, name, input: inputs[name] ?? {} };
}

/** Creates the turn for the scripted model, which calls `pause` where the turn pauses. */
function readScript(
	{ text, reasoning, calls, cuts, fails, pause }: RandomTurn,
	paused: (what: Meanwhile) => Promise<void>,
) {
	const toolCalls = calls.map(readCall);
	const deltas = [
		...[...pieces(reasoning, cuts)].map((piece) => ({ type: 'reasoning', text: piece })),
		...[...pieces(text, cuts)].map((piece) => ({ type: 'text', text: piece })),
		...toolCalls.flatMap(({ id, name, input }) => [
			{ type: 'tool_use_start', id, name },
			...[...pieces(JSON.stringify(input), cuts)].map((partialInputJson) => ({
				type: 'tool_use_input',
				id,
				partialInputJson,
			})),
			{ type: 'tool_use_end', id },
		]),
	];
	const fn: ScriptedFn = async (_, onDelta) => {
		for (const [n, delta] of deltas.entries()) {
			if (n === pause?.behind) await paused(pause.meanwhile);
			await onDelta(delta);
		}
		if (pause !== undefined && pause.behind >= deltas.length) await paused(pause.meanwhile);
		if (fails) return Object.assign(new Error('no'), { status: 401 });
		return { text, toolCalls, ...(reasoning !== '' && { reasoning }), usage: { inputTokens: 3, outputTokens: 2 } };
	};
	return fn;
}

interface State {
	readonly [more: string]: unknown;
	readonly status: string;
	readonly waiting?: number;
	readonly question?: Question;
	readonly toolCalls?: readonly WaitingCall[];
	readonly budget: { readonly reserved: { readonly tokens: number } };
}

/** A session with a person and a reader that reconnects after each disconnect. */
class Conversation {
	readonly id: string;
	/** The reader's events, by run. */
	readonly seen = new Map<number, WireEvent[]>();
	readonly #choose: (among: number) => number;
	#lastEventId: string | undefined;
	/** What this test must do before the run continues, if the run waits for the test. */
	#meanwhileNow: Meanwhile | undefined;
	#gate = Promise.withResolvers<void>();

	constructor(id: string, choose: (among: number) => number) {
		this.id = id;
		this.#choose = choose;
	}

	/** The model and the tools call this function to hang until the test has acted. */
	readonly paused = (what: Meanwhile): Promise<void> => {
		this.#meanwhileNow = what;
		return this.#gate.promise;
	};

	post(operation: string, body: unknown = {}): Promise<Response> {
		return fetch(`/${this.id}/${operation}`, post(body));
	}

	async state(): Promise<State> {
		return (await fetch(`/${this.id}`)).json();
	}

	/** Performs one operation that the status allows. Returns whether there is more to do. */
	async go(): Promise<void> {
		const { status, question, toolCalls = [] } = await this.state();
		if (status === 'awaiting_user' && this.#choose(8) > 0)
			await ok(this.post(this.#choose(2) ? 'answer' : 'messages', { text: `answer to ${question?.callId}` }));
		else if (status === 'awaiting_tools' && toolCalls.length > 0 && this.#choose(8) > 0) await this.#submit(toolCalls);
		else if (status === 'awaiting_user' || status === 'awaiting_tools') await this.#cancelWaiting();
		else if (status === 'error' && this.#choose(2)) await ok(this.post(this.#choose(2) ? 'continue' : 'step'));
		else await ok(this.post('messages', { text: 'hello' }));
		await this.#toTheEnd();
	}

	/** Answers some or all of the open calls. */
	async #submit(calls: readonly WaitingCall[]): Promise<void> {
		const keys = calls.map(({ input }) => Reflect.get(Object(input), 'key'));
		for (const key of keys) expect(effects.began.has(key), `${key} waits`).toBe(false);
		const some = calls.filter(() => this.#choose(3) > 0);
		const answered = some.length === 0 ? calls : some;
		const results = answered.map(({ id, kind }) =>
			kind === 'approval'
				? { id, approve: this.#choose(3) > 0 }
				: { id, output: { by: 'hand' }, isError: this.#choose(4) === 0 },
		);
		await ok(this.post('tool-results', results));
		const again = await this.post('tool-results', results.slice(0, 1));
		await again.text();
		expect(again.status, 'a second answer').toBe(409);
	}

	async #cancelWaiting(): Promise<void> {
		const { status, toolCalls } = await this.state();
		if (status === 'awaiting_tools' && toolCalls?.length === 0) return void (await ok(this.post('continue')));
		await ok(this.post('cancel'));
		const events = [...this.seen.values()].at(-1);
		// A later reader does not see that the run waited.
		events?.splice(-1, 1, { id: events.at(-1)?.id, type: 'cancelled', data: { type: 'cancelled' } });
	}

	/** Reads and acts until nothing runs. */
	async #toTheEnd(): Promise<void> {
		for (;;) {
			let isRead = false;
			const reading = this.#read().finally(() => {
				isRead = true;
			});
			while (!isRead) {
				await vi.waitUntil(() => isRead || this.#meanwhileNow !== undefined, { interval: 2, timeout: 5_000 });
				if (this.#meanwhileNow !== undefined) await this.#doMeanwhile(this.#meanwhileNow);
			}
			await reading;
			const { status, waiting = 0 } = await this.state();
			if (status !== 'running' && (waiting === 0 || status.startsWith('awaiting'))) return;
		}
	}

	async #doMeanwhile(what: Meanwhile): Promise<void> {
		const { resolve: goOn } = this.#gate;
		this.#gate = Promise.withResolvers();
		this.#meanwhileNow = undefined;
		if (what === 'crash') {
			await this.state();
			// A run that ended by a crash does not continue.
			return restart(this.id);
		}
		if (what === 'cancel') await ok(this.post('cancel'));
		else if (what === 'queue' || what === 'steer') {
			const response = await this.post('messages', { text: `while it runs: ${what}`, whenBusy: what });
			await response.text();
			expect([202, 409]).toContain(response.status);
		} else if (what === 'forbidden') {
			const before = JSON.stringify([await this.state(), await readHistory(this.id)]);
			for (const [operation, body] of [
				['answer', { text: 'x' }],
				['tool-results', [{ id: 'a', output: 1 }]],
				['continue', {}],
				['step', {}],
				['messages', { text: 'x', whenBusy: 'reject' }],
			] as const) {
				const response = await this.post(operation, body);
				await response.text();
				expect(response.status, operation).toBe(409);
			}
			expect(JSON.stringify([await this.state(), await readHistory(this.id)])).toBe(before);
		}
		goOn();
	}

	/** Reads to the end of the newest run. Reconnects after each disconnect. */
	async #read(): Promise<void> {
		for (;;) {
			const response = await follow(this.id, this.#lastEventId);
			if (response.status === 204) return;
			try {
				for await (const event of readEvents(response)) {
					const n = Number(event.id?.split('.')[0]);
					const events = this.seen.get(n) ?? [];
					this.seen.set(n, events);
					events.push(event);
					this.#lastEventId = event.id;
				}
			} catch {
				// The object was restarted.
			}
		}
	}
}

function post(body: unknown): RequestInit {
	const headers = { 'content-type': 'application/json', prefer: 'respond-async' };
	return { method: 'POST', body: JSON.stringify(body), headers };
}

/** A request about a session, directly to the app, because requests to the Worker get slower. */
async function fetch(path: string, init?: RequestInit): Promise<Response> {
	return worker.request(`/v1/sessions${path}`, init, env);
}

function follow(id: string, lastEventId?: string): Promise<Response> {
	return fetch(`/${id}/events`, lastEventId === undefined ? {} : { headers: { 'last-event-id': lastEventId } });
}

async function readHistory(id: string): Promise<(WireMessage & { readonly toolCalls?: readonly ToolCall[] })[]> {
	const { messages } = await (await fetch(`/${id}/messages`)).json<{ messages: [] }>();
	return messages;
}

async function ok(answer: Promise<Response>): Promise<void> {
	const response = await answer;
	const body = await response.text();
	expect(response.status, body).toBeLessThan(300);
}

const readStart = (run: number) => `${run}.0.0.0.0.0.0.0.0.0`;

/** The events of one run behind a position. */
async function eventsFrom(id: string, position: string): Promise<WireEvent[]> {
	const response = await follow(id, position);
	return response.status === 204 ? [] : Array.fromAsync(readEvents(response));
}

interface Shown {
	readonly type: string;
	data: Record<string, unknown>;
}

/** The events that a reader sees, with neighbouring pieces joined and without restarted turns. */
function shown(events: readonly WireEvent[]): Shown[] {
	let out: Shown[] = [];
	for (const { type, data } of events) {
		const before = out.at(-1);
		const field = type === 'tool_use_input' ? 'partialInputJson' : 'text';
		const isPiece = ['text', 'reasoning', 'tool_use_input'].includes(type);
		// If a run has no further attempt, its last turn need not be stored.
		const isGivenUp = type === 'error' && data.code === 'interrupted';
		if (type === 'turn.restarted' || isGivenUp) {
			const done = out.findLastIndex((event) => event.type === 'step' || event.type === 'run.started');
			out = out.slice(0, done + 1);
		}
		if (type === 'turn.restarted') continue;
		if (isPiece && before?.type === type && before.data.id === data.id)
			before.data = { ...data, [field]: `${before.data[field]}${data[field]}` };
		else out.push({ type, data: type === 'run.started' ? { runId: data.runId } : data });
	}
	return out;
}

/** The text of each finished turn. */
function readTexts(events: readonly Shown[]): string[] {
	const texts: string[] = [];
	let text = '';
	for (const { type, data } of events) {
		if (type === 'text') text += data.text;
		if (type !== 'stop') continue;
		texts.push(text);
		text = '';
	}
	return texts;
}

/** The errors in the calls of a history: a result without a call, or a second result. */
function faults(messages: Awaited<ReturnType<typeof readHistory>>): string[] {
	const found: string[] = [];
	let open = new Set<string>();
	for (const { role, toolCallId = '', toolCalls = [] } of messages) {
		if (role === 'tool') {
			if (!open.delete(toolCallId)) found.push(`${toolCallId} answers nothing`);
			continue;
		}
		open = new Set(toolCalls.map(({ id }) => id));
		if (open.size !== toolCalls.length) found.push('one id twice in a turn');
	}
	return found;
}

const ends: Readonly<Record<string, string>> = {
	done: 'completed',
	halted: 'completed',
	cancelled: 'idle',
	error: 'error',
};

/** A scenario that does not end in this time fails. */
const runs = { numRuns: 30, timeout: 30_000 };

test('a replay equals the live conversation, and no effect happens twice, whatever fails', {
	timeout: 120_000,
}, async () => {
	await fc.assert(
		fc.asyncProperty(scenario, async ({ turns, choices }) => {
			let chosen = 0;
			const choose = (among: number) => (choices[chosen++ % choices.length] ?? 0) % among;
			const { id } = await (await fetch('', post({ agent: 'scripted' }))).json<{ id: string }>();
			const session = new Conversation(id, choose);
			effects.began.clear();
			effects.onHang = () => void session.paused(choose(3) ? 'crash' : 'cancel');
			const script = turns.map((one) => readScript(one, session.paused));
			const { requests } = play(...script, ...Array.from({ length: 60 }, () => 'The end.'));
			for (let n = 0; n < 15 && requests.length < turns.length; n++) {
				await session.go();
				if (choose(4) === 0) await restart(id);
			}

			const { status, question, toolCalls, budget } = await session.state();
			const last = [...session.seen.values()].at(-1)?.at(-1);
			expect(status).toBe(ends[last?.type ?? ''] ?? last?.data.status);
			expect(budget.reserved.tokens).toBe(0);
			if (status === 'awaiting_user') expect(question).toEqual(last?.data.question);
			else expect(question).toBeUndefined();
			const asked = (last?.data.toolCalls ?? []) as WaitingCall[];
			if (!status.startsWith('awaiting')) expect(toolCalls).toBeUndefined();
			else for (const open of toolCalls ?? []) expect(asked).toContainEqual(open);
			const history = await readHistory(id);
			expect(faults(history)).toEqual([]);

			const events = [...session.seen.values()].map((seen) => shown(seen));
			for (const run of events) {
				expect(run.map(({ type }) => type).lastIndexOf('run.started')).toBe(0);
				expect(run.findIndex(({ type }) => type in ends || type === 'awaiting')).toBe(run.length - 1);
			}
			const replies = history.filter(({ role }) => role === 'assistant').map(({ content }) => content);
			expect(events.flatMap(readTexts)).toEqual(replies);

			for (const when of ['live', 'restarted']) {
				if (when === 'restarted') await restart(id);
				for (const [n, seen] of session.seen) {
					const whole = await eventsFrom(id, readStart(n));
					expect(shown(whole), `run ${n}, ${when}`).toEqual(shown(seen));
					await Promise.all(
						seen.slice(0, -1).map(async (event, at) => {
							const rest = await eventsFrom(id, event.id ?? '');
							const all = shown([...seen.slice(0, at + 1), ...rest]);
							expect(all, `run ${n}, ${when}, behind ${event.id}`).toEqual(shown(seen));
						}),
					);
				}
			}
			expect(await readHistory(id)).toEqual(history);
			for (const [key, times] of effects.began) if (!key.startsWith('again')) expect(times, key).toBe(1);
			expect(await replaySession(id)).toBeUndefined();
		}),
		runs,
	);
});
