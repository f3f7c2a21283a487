import { env } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { draftMs } from '../../../src/cloudflare/session/store/runs.ts';
import type { ScriptedFn } from '../../../src/core/providers/index.ts';
import type { ToolCall } from '../../../src/core/tool/index.ts';
import { readEvents, type WireEvent, type WireMessage } from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { replaySession } from '../../testing/record.ts';
import worker from '../../worker.ts';

interface RandomTurn {
	readonly text: string;
	readonly tools: readonly ('echo' | 'noisy' | 'last' | 'again')[];
	/** The length of each streamed piece of the turn. */
	readonly piece: number;
	/** Whether the model is slow, so that drafts are stored. */
	readonly isSlow: boolean;
	/** Whether the first stream of the turn drops half-way. */
	readonly drops: boolean;
}

/** The object dies before or after a write is durable. The number counts from the first possible write. */
interface Death {
	readonly after: number;
	readonly isDurable: boolean;
}

const turn: fc.Arbitrary<RandomTurn> = fc.record({
	text: fc.string({ minLength: 1, maxLength: 24, unit: 'grapheme' }),
	tools: fc.array(fc.constantFrom('echo', 'noisy', 'last', 'again'), { maxLength: 3 }),
	piece: fc.integer({ min: 1, max: 8 }),
	isSlow: fc.boolean(),
	drops: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
});
const death: fc.Arbitrary<Death> = fc.record({ after: fc.nat({ max: 7 }), isDurable: fc.boolean() });
interface Scenario {
	readonly turns: readonly RandomTurn[];
	readonly deaths: readonly Death[];
	/** After how many events each reader reconnects, again and again. */
	readonly cuts: readonly number[];
}

const scenario: fc.Arbitrary<Scenario> = fc.record({
	turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
	deaths: fc.array(death, { minLength: 1, maxLength: 7 }),
	cuts: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 3, maxLength: 3 }),
});

let keys = 0;

function readCall(name: RandomTurn['tools'][number], n: number): ToolCall {
	const inputs = {
		echo: { text: `hi ${n}` },
		noisy: { times: 2 },
		last: { text: 'last' },
		again: { key: `again ${++keys}`, hangs: false },
	};
	return { id: `${name}-${n}`, name, input: inputs[name] };
}

/** The model. It chooses its answer by the conversation, and a restarted turn has other pieces. */
function readModel(turns: readonly RandomTurn[]): ScriptedFn {
	const asked = new Map<number, number>();
	return async ({ messages }, onDelta) => {
		const n = messages.filter(({ role }) => role === 'assistant').length;
		const { text, tools, piece, isSlow, drops } = turns[n] ?? plain;
		const time = (asked.get(n) ?? 0) + 1;
		asked.set(n, time);
		const whole = time === 1 ? text : `${time}: ${text}`;
		const calls = n < turns.length - 1 ? tools.map((name, at) => readCall(name, 10 * n + at)) : [];
		for (let at = 0; at < whole.length; at += piece + time) {
			if (drops && time === 1 && at > whole.length / 2) return Object.assign(new Error('gone'), { code: 'ECONNRESET' });
			await onDelta({ type: 'text', text: whole.slice(at, at + piece + time) });
			if (isSlow) await new Promise((resolve) => setTimeout(resolve, 3));
		}
		return { text: whole, toolCalls: calls };
	};
}
const plain: RandomTurn = { text: 'The end.', tools: [], piece: 3, isSlow: false, drops: false };

/** A turn as a reader sees it. */
interface ReadTurn {
	text: string;
	readonly calls: string[];
	readonly results: string[];
}

/** Builds the turns of a reader from its events. Throws for events that no reader may see. */
function toTurns(events: readonly WireEvent[]) {
	const ids = new Set<string | undefined>();
	const turns: ReadTurn[] = [];
	let open: ReadTurn = { text: '', calls: [], results: [] };
	let end: WireEvent | undefined;
	for (const event of events) {
		const { id, type, data } = event;
		if (end !== undefined) throw new Error(`${type} behind the end`);
		// It is not stored, so it has no id.
		if (type === 'retry') continue;
		if (ids.has(id)) throw new Error(`${id} came twice`);
		ids.add(id);
		if (type === 'text') open.text += data.text;
		else if (type === 'tool_use_start') open.calls.push(String(data.id));
		else if (type === 'tool_result') open.results.push(String(data.id));
		else if (type === 'turn.restarted') open = { text: '', calls: [], results: [] };
		else if (type === 'step') {
			if (data.text !== open.text) throw new Error(`a turn reads "${open.text}", its record "${data.text}"`);
			turns.push(open);
			open = { text: '', calls: [], results: [] };
		} else if (['done', 'error', 'cancelled', 'halted', 'awaiting'].includes(type)) end = event;
	}
	return { turns, open, end };
}

/**
 * Reads event by event from an id to the end of the run. Reconnects when it is disconnected, and disconnects by itself.
 */
async function read(id: string, cut: number): Promise<WireEvent[]> {
	const seen: WireEvent[] = [];
	for (;;) {
		const last = seen.findLast((event) => event.id !== undefined)?.id;
		const response = await ask(`/${id}/events`, last === undefined ? {} : { headers: { 'last-event-id': last } });
		if (response?.status === 204) return seen;
		if (response?.status !== 200) continue;
		let left = cut;
		try {
			for await (const event of readEvents(response)) {
				seen.push(event);
				// An event without an id comes again after a new connection.
				if (event.id !== undefined && --left === 0) break;
			}
		} catch {
			// The object died.
		}
		if (toTurns(seen).end !== undefined) return seen;
	}
}

/** A request directly to the app. Returns nothing if the object died. */
async function ask(path: string, init: RequestInit = {}): Promise<Response | undefined> {
	try {
		return await worker.request(`/v1/sessions${path}`, init, env);
	} catch {
		return undefined;
	}
}

async function begin(): Promise<string> {
	const headers = {
		'content-type': 'application/json',
		prefer: 'respond-async',
		'idempotency-key': `deaths-${++keys}`,
	};
	const body = JSON.stringify({ agent: 'scripted', text: 'go' });
	for (;;) {
		const response = await ask('', { method: 'POST', body, headers });
		const text = await response?.text().catch(() => undefined);
		if (response?.status === 202 && text !== undefined) return JSON.parse(text).id;
	}
}

type Stored = WireMessage & { readonly toolCalls?: readonly ToolCall[] };

async function readHistory(id: string): Promise<readonly Stored[]> {
	const response = await ask(`/${id}/messages`);
	return (await response?.json<{ messages: Stored[] }>())?.messages ?? [];
}

afterEach(() => {
	atCrashPoint();
	vi.restoreAllMocks();
});

/** The object dies twice before the restart of a turn whose stream dropped. */
const diesBetweenAttempts: Scenario = {
	turns: [
		{ text: 'One two.', tools: [], piece: 1, isSlow: false, drops: true },
		{ text: 'Three.', tools: [], piece: 1, isSlow: false, drops: false },
	],
	deaths: [
		{ after: 2, isDurable: false },
		{ after: 0, isDurable: false },
	],
	cuts: [1, 1, 1],
};

test.each([
	['drafts after a millisecond', 1],
	['no drafts', draftMs],
] as const)(
	'every reader of every life has read the stored text, for any number of deaths at any writes, with %s',
	{
		timeout: 300_000,
	},
	async (_, firstMs) => {
		const { setTimeout: real } = globalThis;
		vi.spyOn(globalThis, 'setTimeout').mockImplementation((work, ms) => real(work, ms === draftMs ? firstMs : ms));
		const lives = new Map<number, number>();
		await fc.assert(
			fc.asyncProperty(scenario, async ({ turns, deaths, cuts }) => {
				const left = [...deaths];
				let next = left.shift();
				let points = 0;
				const readers: Promise<WireEvent[]>[] = [];
				const model = readModel(turns);
				play(...Array.from({ length: 60 }, () => model));
				atCrashPoint((_, { session }) => {
					if (next === undefined || points++ < next.after) return undefined;
					const { isDurable } = next;
					points = 0;
					next = left.shift();
					return die(session, { isDurable });
				});
				const id = await begin();
				for (const cut of cuts) readers.push(read(id, cut));
				// One more reader from the middle, in each attempt.
				for (let n = 0; n < 3; n++) {
					await new Promise((resolve) => real(resolve, 5));
					readers.push(read(id, cuts[n] ?? 1));
				}
				const all = (await Promise.all(readers)).map((events) => toTurns(events));
				atCrashPoint();
				all.push(toTurns(await read(id, Number.POSITIVE_INFINITY)));

				const history = await readHistory(id);
				const replies = history.filter(({ role }) => role === 'assistant');
				const ends = new Set(all.map(({ end }) => JSON.stringify(end)));
				expect([...ends]).toHaveLength(1);
				const end = all[0]?.end;
				lives.set(deaths.length - left.length, (lives.get(deaths.length - left.length) ?? 0) + 1);
				for (const { turns: read, open } of all) {
					const texts = read.map(({ text }) => text);
					const stored = replies.map(({ content }) => content);
					// The last turn of a run without a further attempt may have no end.
					expect(texts).toEqual(end?.type === 'done' ? stored : stored.slice(0, texts.length));
					expect(read.map(({ calls }) => calls)).toEqual(
						replies.slice(0, read.length).map(({ toolCalls = [] }) => toolCalls.map((call) => call.id)),
					);
					for (const { calls, results } of read) expect(results.toSorted()).toEqual(calls.toSorted());
					if (end?.type === 'done') expect(open).toEqual({ text: '', calls: [], results: [] });
				}
				expect(history.filter(({ role }) => role === 'user')).toHaveLength(1);
				expect(await replaySession(id)).toBeUndefined();
			}),
			{ numRuns: 25, timeout: 120_000, examples: [[diesBetweenAttempts]] },
		);
		console.log('runs by the deaths that they had:', JSON.stringify([...lives].sort(([a], [b]) => a - b)));
	},
);
