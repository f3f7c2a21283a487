import { env, runInDurableObject } from 'cloudflare:test';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';

/** What a store says of all that it remembers. */
const readAll = (store: SessionStore) =>
	store.hasTables && {
		exists: store.exists(),
		session: store.exists() && [store.session(), store.visitedAt, store.tokenKey, store.summary],
		runs: [store.runs.get(), store.runs.get(1), store.runs.get(2), store.runs.get(99), store.nextRun, store.status],
		messages: [store.messages.nextPlace(), store.messages.lastTurn()],
		spending: [store.spending.open(), store.spending.total()],
		queue: [store.queue.size, store.queue.newestAt(), store.queue.first(), store.queue.all(), store.queue.steering()],
		callbacks: [store.callbacks.nextAt(), store.callbacks.listDue(Number.MAX_SAFE_INTEGER, 9)],
		outbox: [store.outbox.nextAt(), store.outbox.listDue(Number.MAX_SAFE_INTEGER)],
	};

const estimate = { inputTokens: 1, inputUsd: 0, outputUsd: 0 };
const run = { boot: 'b', createdAt: 1 };
const end = { before: [], draft: [], steps: 0, event: { type: 'cancelled' } } as const;
const waiting = { message: { role: 'user', content: 'next' }, inbound: { sender: 's', transport: 'http' } } as const;

/** Everything that a store may write of what it remembers. */
const writes: readonly ((store: SessionStore, n: number) => unknown)[] = [
	(store, n) => store.runs.begin({ ...run, n: store.nextRun, id: `run_${n}`, firstSeq: store.messages.nextPlace() }),
	(store, n) => store.runs.draft(store.nextRun - 1, { iteration: n, restarts: 0, events: [] }),
	(store, n) => store.runs.markRestarted(store.nextRun - 1, n),
	(store, n) => store.runs.takeUp(store.nextRun - 1, { boot: `b${n}`, attempt: n, lost: 0, progress: 0, restarts: 0 }),
	(store, n) => store.runs.end(store.nextRun - 1, 'cancelled', end, n),
	(store, n) => store.messages.add(1, { role: 'user', content: String(n) }, n),
	// Two never stand in one place.
	(store, n) => store.summary === 0 && store.addSummary(1, { role: 'system', content: 'so far', summary: true }, n, 1),
	(store) => store.replace(store.messages.lastTurn()),
	(store, n) => store.spending.reserve({ run: 1, model: 'm', amount: { tokens: n, usd: n }, owed: true, estimate }, n),
	(store, n) => store.spending.settle(store.spending.open()?.call ?? 0, { tokens: n, usd: n }, n % 2 === 0),
	(store) => store.spending.endLease(1),
	(store, n) => store.queue.add({ ...waiting, runId: `run_${n}`, steers: n % 2 === 0 }, undefined, n),
	(store) => store.queue.drop(),
	(store, n) => store.callbacks.add({ run: n % 2, runId: `run_${n}`, url: 'https://example.com' }),
	(store) => store.callbacks.remove(store.callbacks.listDue(Number.MAX_SAFE_INTEGER, 1)[0]?.id ?? ''),
	(store, n) => store.outbox.add({ id: `bucket ${n}`, message: { to: 'bucket', key: String(n) }, failed: n }, n),
	(store) => store.markTold(store.outbox.listDue(Number.MAX_SAFE_INTEGER)),
	(store, n) => store.retry(store.outbox.listDue(Number.MAX_SAFE_INTEGER), n * 100_000),
	(store, n) => store.noteVisit(n * 100_000),
	(store, n) => store.setTitle(`Title ${n}`),
	(store, n) => store.chooseModel(`model-${n}`),
	(store, n) => store.setBudget({ tokens: n }),
	(store) => store.makeTokenKey(),
	(store) => store.erase(1),
	(store) => store.clear(),
];

const step = fc.record({
	write: fc.nat(writes.length - 1),
	n: fc.nat(20),
	/** How it is written: by itself, in a transaction, or in one that is rolled back after it was read. */
	how: fc.constantFrom('alone', 'together', 'undone'),
});

test('what a store remembers is what stands in its rows, after any writes, also those that were undone', async () => {
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
						throw new Error('undone');
					};
					if (how === 'alone' || write === writes.length - 1) await work();
					else if (how === 'together') store.transaction(() => void work());
					else expect(() => store.transaction(fail)).toThrow('undone');
					expect(readAll(store)).toEqual(readAll(new SessionStore(storage)));
				}
			});
		}),
		{ numRuns: 40 },
	);
});
