import { env, runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Storage } from '../../../src/cloudflare/objects/storage.ts';
import { type MessageCost, messageStride, toTurnPlace } from '../../../src/cloudflare/session/store/messages.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import type { Message } from '../../../src/core/chat/index.ts';

/** The parts of the conversation to read. `from` is the first place, and `characters` is the most text. */
const reaches = [
	{ characters: 1e9 },
	{ from: 3 * messageStride, characters: 1e9 },
	{ from: messageStride, characters: 400 },
	{ characters: 0 },
];

/** Reads everything that a store caches. */
const readAll = (store: SessionStore) =>
	store.hasTables && {
		exists: store.exists(),
		session: store.exists() && [store.session(), store.visitedAt, store.tokenKey, store.summary],
		runs: [
			store.runs.get(),
			store.runs.get(1),
			store.runs.get(2),
			store.runs.get(99),
			store.runs.after(0),
			store.nextRun,
			store.status,
		],
		messages: [
			store.messages.nextPlace(),
			store.messages.lastTurn(),
			...reaches.map((reach) => store.messages.newest(reach)),
			// A page always reads the rows.
			store.messages.newest({ from: 2, characters: 1e9 }).length -
				store.messages.page({ from: 2, withReplaced: false }).records.length,
		],
		spending: [store.spending.open(), store.spending.total(), store.spending.after(0, 99), store.messages.newestCost()],
		queue: [store.queue.size, store.queue.newestAt(), store.queue.first(), store.queue.all(), store.queue.steering()],
		callbacks: [store.callbacks.nextAt(), store.callbacks.listDue(Number.MAX_SAFE_INTEGER, 9)],
		outbox: [store.outbox.nextAt(), store.outbox.listDue(Number.MAX_SAFE_INTEGER)],
	};

/** Lists the ranks of messages in their turns. */
const listRanks = (store: SessionStore) =>
	store.messages.page().records.map(({ seq, stored }) => `${toTurnPlace(seq)} ${stored}`);

const estimate = { inputTokens: 1, inputUsd: 0, outputUsd: 0 };
const run = { boot: 'b', createdAt: 1 };
const end = { before: [], draft: [], steps: 0, event: { type: 'cancelled' } } as const;
const waiting = { message: { role: 'user', content: 'next' }, inbound: { sender: 's', transport: 'http' } } as const;

const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'look', input: {} }));

/** Stores a message of the newest run, the only run that stores messages. */
const add = (store: SessionStore, message: Message, createdAt: number, cost?: MessageCost) =>
	store.messages.add(Math.max(store.nextRun - 1, 1), message, createdAt, { cost });

/** Stores a result of the last turn for a call without a result. */
function answer(store: SessionStore, n: number): void {
	const [turn, ...results] = store.messages.page({ from: store.messages.lastTurn() }).records;
	const asked = turn?.message.role === 'assistant' ? (turn.message.toolCalls ?? []) : [];
	const id = asked[n % 3]?.id;
	const isAnswered = results.some(({ message }) => message.role === 'tool' && message.toolCallId === id);
	if (id !== undefined && !isAnswered) add(store, { role: 'tool', toolCallId: id, content: n }, n);
}

/** Summarizes the messages before the last turn, if any. A turn is never summarized in part. */
function sumUp(store: SessionStore, n: number): void {
	const all = store.messages.page({ withReplaced: false }).records;
	const inFrontOf = all.filter(({ seq }) => seq >= store.messages.lastTurn()).length;
	const isNeeded = store.summary === 0 && inFrontOf > 0 && inFrontOf < all.length;
	if (isNeeded) store.addSummary(1, { role: 'system', content: 'so far', summary: true }, n, inFrontOf);
}

/** All writes of the cached tables. */
const writes: readonly ((store: SessionStore, n: number) => unknown)[] = [
	(store, n) => store.runs.begin({ ...run, n: store.nextRun, id: `run_${n}`, firstSeq: store.messages.nextPlace() }),
	(store, n) => store.runs.draft(store.nextRun - 1, { iteration: n, restarts: 0, events: [] }),
	(store, n) => store.runs.markRestarted(store.nextRun - 1, n),
	(store, n) => store.runs.takeUp(store.nextRun - 1, { boot: `b${n}`, attempt: n, lost: 0, progress: 0, restarts: 0 }),
	(store, n) => store.runs.end(store.nextRun - 1, 'cancelled', end, n, n % 2 === 0 ? n : undefined),
	// Each write of a run's row changes the cached run.
	(store, n) => {
		const begun = { ...run, n: store.nextRun, id: `run_${n}`, firstSeq: store.messages.nextPlace() };
		store.runs.begin(begun);
		store.runs.draft(begun.n, { iteration: n, restarts: 0, events: [] });
		if (n % 2 === 0) store.runs.end(begun.n, 'cancelled', end, n);
	},
	(store, n) => add(store, { role: 'user', content: String(n) }, n),
	(store, n) => add(store, { role: 'assistant', content: '', toolCalls: calls.slice(n % 3) }, n),
	// Results come in any order, and are placed in the order of the calls.
	(store, n) => answer(store, n),
	(store, n) => {
		add(store, { role: 'assistant', content: '', toolCalls: calls }, n);
		for (const rank of [2, 0]) answer(store, rank);
	},
	// Two rows, of which the cache keeps only a few.
	(store, n) => add(store, { role: 'user', content: 'x'.repeat(n * 100_000) }, n),
	(store, n) => store.replace(messageStride * n),
	(store, n) => sumUp(store, n),
	(store) => store.replace(store.messages.lastTurn()),
	(store, n) => store.spending.reserve({ run: 1, model: 'm', amount: { tokens: n, usd: n }, owed: true, estimate }, n),
	(store, n) => store.spending.settle(store.spending.open()?.call ?? 0, { tokens: n, usd: n }),
	(store) => store.spending.endLease(),
	(store, n) => {
		const open = store.spending.open();
		const cost = open && { call: open.call, tokens: n, usd: n };
		add(store, { role: 'assistant', content: 'so much' }, n, cost);
	},
	(store, n) => store.queue.add({ ...waiting, runId: `run_${n}`, steers: n % 2 === 0 }, undefined, n),
	(store) => {
		for (const one of store.queue.all()) store.queue.take(one, undefined);
	},
	(store, n) => store.callbacks.add({ run: n % 2, runId: `run_${n}`, url: 'https://example.com' }),
	(store) => store.callbacks.remove(store.callbacks.listDue(Number.MAX_SAFE_INTEGER, 1)[0]?.id ?? ''),
	(store, n) => store.outbox.add({ id: `bucket ${n}`, message: { to: 'bucket', key: String(n) }, failed: n }, n),
	(store) => store.markReported(store.outbox.listDue(Number.MAX_SAFE_INTEGER)),
	(store, n) => store.retry(store.outbox.listDue(Number.MAX_SAFE_INTEGER), n * 100_000),
	(store, n) => store.noteVisit(n * 100_000),
	(store, n) => store.update({ title: `Title ${n}` }),
	(store, n) => store.update({ model: `model-${n}` }),
	(store, n) => store.change({ budget: { tokens: n } }, n * 100_000),
	(store, n) => store.change({ title: `Name ${n}` }, n * 100_000),
	(store) => store.erase(1),
	(store) => store.clear(),
];

const step = fc.record({
	write: fc.nat(writes.length - 1),
	n: fc.nat(20),
	/** The write runs alone, in a transaction, or in a transaction that is rolled back after a read. */
	how: fc.constantFrom('alone', 'together', 'rolled back'),
});

test('the cache equals the stored rows after any writes and rollbacks', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
			await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
				const store = new SessionStore(storage);
				for (const { write, n, how } of steps) {
					if (!store.exists())
						store.transaction(() => store.create({ id: 's', agent: 'scripted', owner: 'o', createdAt: 1 }));
					const work = () => writes[write]?.(store, n);
					const fail = () => {
						work();
						readAll(store);
						throw new Error('rolled back');
					};
					if (how === 'alone' || write === writes.length - 1) await work();
					else if (how === 'together') store.transaction(() => void work());
					else expect(() => store.transaction(fail)).toThrow('rolled back');
					expect(readAll(store)).toEqual(readAll(new SessionStore(storage)));
					// No two messages of a turn have the same rank.
					if (store.hasTables) expect(new Set(listRanks(store)).size).toBe(listRanks(store).length);
				}
			});
		}),
		{ numRuns: 40 },
	);
});

test('reads each message from storage once, and never reads a message that it stored itself', async () => {
	await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
		const queries: string[] = [];
		const watched: Storage = {
			transactionSync: (work) => storage.transactionSync(work),
			getAlarm: () => storage.getAlarm(),
			setAlarm: (at) => storage.setAlarm(at),
			deleteAlarm: () => storage.deleteAlarm(),
			sync: () => storage.sync(),
			deleteAll: () => storage.deleteAll(),
			sql: {
				exec: (query, ...values) => {
					queries.push(query);
					return storage.sql.exec(query, ...values);
				},
				databaseSize: 0,
			},
		};
		const first = new SessionStore(storage);
		first.create({ id: 's', agent: 'scripted', owner: 'o', createdAt: 1 });
		for (let n = 0; n < 10; n++) first.messages.add(1, { role: 'user', content: String(n) }, n);
		const { messages } = new SessionStore(watched);
		expect(messages.newest({ characters: 1e9 })).toHaveLength(10);
		messages.add(1, { role: 'user', content: 'one more' }, 10);
		queries.length = 0;
		const all = messages.newest({ characters: 1e9 });
		expect(all.map(({ message }) => message.content).slice(-2)).toEqual(['9', 'one more']);
		expect(messages.newest({ from: messageStride * 5, characters: 1e9 })).toHaveLength(7);
		expect(queries).toEqual([]);
		// A provider gets the cached messages.
		expect(all.every((record) => Object.isFrozen(record) && Object.isFrozen(record.message))).toBe(true);
	});
});
