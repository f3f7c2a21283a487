import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
import type { CrashPointName } from '../../../src/cloudflare/agent/runtime.ts';
import { RunLog } from '../../../src/cloudflare/session/events/log.ts';
import { Journal } from '../../../src/cloudflare/session/run/journal.ts';
import { RunCounter } from '../../../src/cloudflare/session/run/metrics.ts';
import { carryOut } from '../../../src/cloudflare/session/run/run.ts';
import { InboundContext } from '../../../src/cloudflare/session/store/inbound.ts';
import type { RunRecord } from '../../../src/cloudflare/session/store/runs.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { createDeferred } from '../../../src/core/base/promises.ts';
import { userMessage } from '../../../src/core/chat/message.ts';
import {
	allEvents,
	createSession,
	follow,
	readEvents,
	readHistory,
	readObject,
	readState,
	request,
	restart,
	send,
	type WireEvent,
} from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { remembering } from '../../worker.ts';
import { forever, post, readHalf, readReplies, readTo, readTurns } from './stage.ts';

beforeEach(() => atCrashPoint());

/** Lets a run hang when it first reaches the point. Returns a function that waits until the run hangs. */
function hangAt(name: CrashPointName): () => Promise<void> {
	let isReached = false;
	atCrashPoint((point) => {
		if (point !== name || isReached) return undefined;
		isReached = true;
		return forever();
	});
	// A promise of the object would call its waiter within the object, and the object dies.
	return () => expect.poll(() => isReached, { timeout: 30_000 }).toBe(true);
}

/** Reads until the connection ends, also by the death of the object. */
async function readUntilCut(response: Response): Promise<WireEvent[]> {
	const seen: WireEvent[] = [];
	try {
		for await (const event of readEvents(response)) seen.push(event);
	} catch {
		// The object died.
	}
	return seen;
}

describe('a turn whose object dies twice', () => {
	test('is shown once to a reader of attempt 1, even if attempt 2 did not ask the model', async () => {
		const id = await createSession();
		play(readHalf('Half of the first'), 'The whole answer.');
		const seen = await readTo(await send(id, 'go'), { text: 'Half of the first' });
		const takenUp = hangAt('taken-up');
		await restart(id);
		const second = await follow(id);
		await takenUp();
		atCrashPoint();
		await restart(id);
		const rest = await allEvents(await follow(id, seen.at(-1)?.id));
		expect(readTurns([...seen, ...rest])).toEqual(['The whole answer.']);
		await second.body?.cancel();
	});

	test('is shown once to a reader of attempt 2, although attempt 2 did not ask the model', async () => {
		const id = await createSession();
		play(readHalf('Half'), 'The whole answer.');
		await readTo(await send(id, 'go'), { text: 'Half' });
		const takenUp = hangAt('taken-up');
		await restart(id);
		const seen = await readTo(await follow(id), { type: 'turn.restarted' });
		await takenUp();
		atCrashPoint();
		await restart(id);
		const rest = await allEvents(await follow(id, seen.at(-1)?.id));
		expect(readTurns([...seen, ...rest])).toEqual(await readReplies(id));
	});
});

describe('a run that kills its object in each attempt', () => {
	const safe = { what: 'with three model requests if all calls are safe', more: [], times: 3 };
	const echo = { id: 'e', name: 'echo', input: { text: 'hi' } };
	const unsafe = { what: 'with one model request if a call is not safe', more: [echo], times: 1 };
	for (const at of ['approval', 'call'] as const)
		for (const { what, more, times } of [safe, unsafe])
			test(`ends as interrupted after three crashes at the tool’s ${at}, ${what}`, async () => {
				const id = await createSession();
				const toolCalls = [{ id: 'l', name: 'lethal', input: { session: id, at } }, ...more];
				const { requests } = play(...Array.from({ length: times }, () => ({ toolCalls })), 'Over.');
				await post(id);
				const state = async () => {
					try {
						return await readState(id);
					} catch {
						// The object died.
						return undefined;
					}
				};
				await expect
					.poll(state, { timeout: 30_000 })
					.toMatchObject({ status: 'error', error: { code: 'interrupted' } });
				expect((await allEvents(await follow(id)))[0]?.data).toMatchObject({ attempt: 3 });
				expect(requests).toHaveLength(times);
				play('Never mind.');
				expect(readTurns(await allEvents(await send(id, 'leave it')))).toEqual(['Never mind.']);
			});
});

describe('a turn whose object dies before the next turn', () => {
	const turns = [
		{ what: 'is lost and requested again if its call is safe to repeat', tool: 'remember', asked: 3, begun: 2 },
		{ what: 'is kept with an unknown outcome if its call is not safe to repeat', tool: 'echo', asked: 2, begun: 0 },
	];
	for (const { what, tool, asked, begun } of turns)
		test(`${what}: readers see the turn once`, async () => {
			const id = await createSession();
			const turn = { text: 'I look.', toolCalls: [{ id: 'c', name: tool, input: { key: id, text: 'x' } }] };
			const { requests } = play(...Array.from({ length: asked - 1 }, () => turn), 'Seen.');
			let times = 0;
			atCrashPoint((point, { session }) => {
				const isSecond = session === id && point === 'model-begin' && ++times === 2;
				return isSecond ? die(id, { isDurable: false }) : undefined;
			});
			const before = remembering.begun;
			const seen = await readUntilCut(await send(id, 'go'));
			const rest = await allEvents(await follow(id, seen.at(-1)?.id));
			expect(requests).toHaveLength(asked);
			expect(remembering.begun - before).toBe(begun);
			expect(readTurns([...seen, ...rest])).toEqual(['I look.', 'Seen.']);
			expect(readTurns(await allEvents(await follow(id)))).toEqual(['I look.', 'Seen.']);
			expect([...seen, ...rest].filter(({ type }) => type === 'tool_result')).toHaveLength(1);
			expect((await readHistory(id)).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
		});
});

test('shows a turn with calls only when it is durable, even if the next turn has begun', async () => {
	await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
		const store = new SessionStore(storage);
		store.create({ id: 's', agent: 'scripted', owner: 'local', createdAt: 1 });
		const record = store.runs.begin({ n: 1, id: 'run_1', boot: 'one', firstSeq: 65_536, createdAt: 1 });
		const second = createDeferred<void>();
		const reserving = [createDeferred<void>(), second];
		const durable = createDeferred<void>();
		const reply = {
			text: 'I look.',
			toolCalls: [{ id: 'c', name: 'look', input: {} }],
			stopReason: 'tool_use',
		} as const;
		const replies = [reply, 'Seen.'];
		const log = new RunLog(1);
		const shared = {
			...{ store, record, atCrashPoint: () => {} },
			// Writes are normal until the model was asked for the first turn. Later writes become durable late.
			sync: async () => (replies.length === 2 ? undefined : durable.promise),
			meter: {
				reserve: () => {
					reserving.shift()?.resolve();
					return undefined;
				},
				lost: () => {},
				settle: () => undefined,
				call: undefined,
			},
		};
		const inbound = new InboundContext([], { owner: 'local' });
		const journal = new Journal({ ...shared, inbound, files: { keepAttachments: () => {} }, onSteered: () => {} });
		const stop = new AbortController();
		const { ended } = carryOut({
			...shared,
			...{ journal, log, stop, counter: new RunCounter(), history: [userMessage('go')] },
			options: {
				...journal.hooks,
				model: 'm',
				chatFn: async () => replies.shift(),
				tools: [{ name: 'look', inputSchema: {}, retry: 'safe', fn: () => 'seen' }],
				signal: stop.signal,
			},
			lastEvent: (event) => event,
			onEnd: () => {},
			onEnded: () => {},
		});
		const listShown = () => log.read(log.cursor()).map(({ event }) => event.type);
		await second.promise;
		expect(store.messages.page().records.map(({ message }) => message.role)).toEqual(['assistant', 'tool']);
		expect(listShown().filter((type) => ['stop', 'tool_result', 'step'].includes(type))).toEqual([]);
		durable.resolve();
		await ended;
		expect(listShown()).toEqual(expect.arrayContaining(['tool_result', 'step', 'done']));
	});
});

describe('a run whose last attempt dies during an answer', () => {
	test('ends, and the session answers the next message', async () => {
		const id = await createSession();
		play(readHalf('One'), readHalf('Two'), readHalf('Three'));
		let response = await send(id, 'go');
		for (const text of ['One', 'Two', 'Three']) {
			await readTo(response, { text });
			await restart(id);
			response = await follow(id);
		}
		expect((await allEvents(response)).at(-1)).toMatchObject({ type: 'error', data: { code: 'interrupted' } });
		const { requests } = play('Here I am.');
		expect(readTurns(await allEvents(await send(id, 'and now?')))).toEqual(['Here I am.']);
		expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'user']);
		expect(await readState(id)).toMatchObject({ status: 'completed', budget: { reserved: { tokens: 0 } } });
	});

	test('lets a queued message run next', async () => {
		const id = await createSession();
		play(readHalf('One'), readHalf('Two'), readHalf('Three'), 'At last.');
		let response = await send(id, 'go');
		await post(id, { text: 'me, too' });
		for (const text of ['One', 'Two', 'Three']) {
			await readTo(response, { text });
			await restart(id);
			if (text !== 'Three') response = await follow(id);
		}
		await expect.poll(() => readReplies(id)).toEqual(['At last.']);
	});
});

test('a run completes after five restarts during its model calls and its tools', async () => {
	const id = await createSession();
	const again = (n: number) => ({ id: `a${n}`, name: 'once', input: { key: `reload ${id} ${n}`, hangs: n === 1 } });
	play(
		readHalf('Half'),
		{ text: 'Whole.', toolCalls: [again(1), again(2), { id: 'l', name: 'last', input: { text: 'x' } }] },
		readHalf('Nearly'),
		'Done.',
	);
	const reload = () => restart(id);
	const seen = await readTo(await send(id, 'go'), { text: 'Half' });
	await reload();
	// The first call hangs in the first attempt.
	const reloads = ['model-end', 'tool-begin', 'tool-end'] as const;
	for (const name of reloads) {
		const reached = hangAt(name);
		const watching = follow(id).then((response) => response.body?.cancel());
		await reached();
		atCrashPoint();
		await reload();
		await watching;
	}
	await readTo(await follow(id), { text: 'Nearly' });
	await reload();
	const rest = await allEvents(await follow(id, seen.at(-1)?.id));
	expect(readTurns([...seen, ...rest])).toEqual(['Whole.', 'Done.']);
	expect(rest.at(-1)?.type).toBe('done');
	expect(rest.filter(({ type }) => type === 'tool_result')).toHaveLength(3);
});

describe('an approval', () => {
	const pay = { id: 'p', name: 'pay', input: { amount: 5 } };
	const approve = (id: string, call: unknown) =>
		request(`/v1/sessions/${id}/tool-results`, [{ id: call, approve: true }], { accept: 'text/event-stream' });

	test('is shown again after a crash, and its call can be decided once', async () => {
		const id = await createSession();
		const stored = hangAt('ended');
		play({ toolCalls: [pay] });
		await send(id, 'go');
		await stored();
		atCrashPoint();
		await restart(id);
		const shown = (await allEvents(await follow(id))).at(-1)?.data.toolCalls as { id: string }[];
		expect(shown).toMatchObject([{ id: 'p', kind: 'approval' }]);
		await restart(id);
		play('Paid.');
		expect(readTurns(await allEvents(await approve(id, shown[0]?.id)))).toEqual(['Paid.']);
		expect((await approve(id, shown[0]?.id)).status).toBe(409);
		const results = (await readHistory(id)).filter(({ role }) => role === 'tool');
		expect(results).toMatchObject([{ toolCallId: 'p', content: 'paid 5' }]);
	});

	test('can be sent again if a crash lost it', async () => {
		const id = await createSession();
		play({ toolCalls: [pay] });
		const shown = (await allEvents(await send(id, 'go'))).at(-1)?.data.toolCalls as { id: string }[];
		let deaths = 0;
		atCrashPoint((_, { session }) => (deaths++ === 0 ? die(session, { isDurable: false }) : undefined));
		await approve(id, shown[0]?.id).catch(() => undefined);
		play('Paid.', 'Paid.');
		await approve(id, shown[0]?.id).then((response) => response.text());
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		const results = (await readHistory(id)).filter(({ role }) => role === 'tool');
		expect(results).toMatchObject([{ toolCallId: 'p', content: 'paid 5' }]);
	});
});

describe('a model that never ends', () => {
	test('does not delay the alarm, and is stopped at its deadline', async () => {
		const id = await createSession('impatient');
		const late = Promise.withResolvers<void>();
		let isStopped = false;
		const { requests } = play(async ({ options }, onDelta) => {
			options?.signal?.addEventListener('abort', () => {
				isStopped = true;
			});
			await onDelta({ type: 'text', text: 'Hm' });
			await late.promise;
			await onDelta({ type: 'text', text: ' and late' });
			return 'Hm and late';
		}, 'Next.');
		const response = await send(id, 'go');
		await expect.poll(() => requests.length).toBe(1);
		for (let n = 0; n < 3; n++) {
			const wentOff = await runDurableObjectAlarm(readObject(id));
			// A slow machine may have reached the deadline meanwhile.
			expect(wentOff || isStopped).toBe(true);
		}
		const events = await allEvents(response);
		expect(events.at(-1)).toMatchObject({ type: 'error', data: { code: 'timeout' } });
		expect(isStopped).toBe(true);
		const before = await readHistory(id);
		await runInDurableObject(readObject(id), () => late.resolve());
		expect(readTurns(await allEvents(await send(id, 'and now?')))).toEqual(['Next.']);
		expect((await readHistory(id)).slice(0, before.length)).toEqual(before);
		expect(await readReplies(id)).toEqual(['Next.']);
	});

	test('writes nothing after its run has ended or another attempt has begun', async () => {
		await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
			const store = new SessionStore(storage);
			store.create({ id: 's', agent: 'scripted', owner: 'local', createdAt: 1 });
			const begin = (n: number) => store.runs.begin({ n, id: `run_${n}`, boot: 'one', firstSeq: 65_536, createdAt: 1 });
			const late = async (record: RunRecord) => {
				const meter = { reserve: () => undefined, lost: () => {}, settle: () => undefined, call: undefined };
				const inbound = new InboundContext([], { owner: 'local' });
				const files = { keepAttachments: () => {} };
				const options = { store, record, meter, inbound, files, onSteered: () => {}, atCrashPoint: () => {} };
				const { signal } = new AbortController();
				const { hooks } = new Journal({ ...options, sync: () => storage.sync() });
				const message = { role: 'assistant', content: 'late' } as const;
				const writes = [
					async () => hooks.onMessage(message, { before: [] }),
					async () => hooks.onToolCall({ id: 'c', name: 'pay', input: {} }, { name: 'pay', inputSchema: {} }),
					async () => hooks.meter.reserve({ model: 'm', inputTokens: 1, maxOutputTokens: 1, signal }),
					async () => hooks.onRestart(1, []),
					async () => hooks.steer(),
				];
				for (const write of writes) await expect(write()).rejects.toMatchObject({ code: 'interrupted' });
			};
			const ended = begin(1);
			store.runs.end(1, 'cancelled', { before: [], draft: [], steps: 0, event: { type: 'cancelled' } }, 2);
			await late(ended);
			const takenUp = begin(2);
			store.runs.takeUp(2, { boot: 'two', attempt: 2, lost: 1, progress: 0, restarts: 0 });
			await late(takenUp);
			expect(store.messages.page().records).toEqual([]);
		});
	});
});
