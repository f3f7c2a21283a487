import { env, runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { decideNext, readFacts } from '../../../src/cloudflare/session/run/next.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { counted } from '../../rows.ts';

const hour = 3_600_000;
const estimate = { inputTokens: 1, inputUsd: 0, outputUsd: 0 };
const ten = { tokens: 10, usd: 0 };

/** Creates a session that has begun its first run. */
function createStore(storage: DurableObjectStorage): SessionStore {
	const store = new SessionStore(storage);
	store.create({ id: 's', agent: 'scripted', owner: 'o', createdAt: 1, expiresAfterMs: hour });
	store.runs.begin({ n: 1, id: 'run_1', boot: 'b', firstSeq: 1, createdAt: 1 });
	return store;
}

/** Works on a session's store in an object of its own. */
const onStore = (work: (store: SessionStore, readRows: ReturnType<typeof counted>['rows']) => void) =>
	runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		const store = createStore(counting);
		rows();
		work(store, rows);
	});

const listTold = (store: SessionStore) => store.reports.list().map(({ id }) => id);

test('activity without a run extends the lifetime of a session with at most one write a minute', () =>
	onStore((store, readRows) => {
		store.runs.end(1, 'completed', { before: [], draft: [], steps: 0, event: { type: 'cancelled' } }, 1);
		readRows();
		const decide = (now: number) => decideNext(readFacts(store, [], { isLive: false }), now).action.type;
		store.noteVisit(hour);
		expect(readRows().written).toBe(1);
		expect([decide(2 * hour - 1), decide(2 * hour)]).toEqual(['none', 'remove']);
		store.noteVisit(hour + 59_999);
		expect(readRows().written).toBe(0);
		store.noteVisit(hour + 60_000);
		expect(readRows().written).toBe(1);
	}));

test('reports an ended lease during the run that began it', () =>
	onStore((store, readRows) => {
		store.runs.end(1, 'cancelled', { before: [], draft: [], steps: 0, event: { type: 'cancelled' } }, 1);
		readRows();
		const begun = { n: 2, id: 'run_2', boot: 'b', firstSeq: store.messages.nextPlace(), createdAt: 2 };
		store.runs.begin(begun);
		store.messages.add(2, { role: 'user', content: 'go' }, 2);
		expect(readRows().written).toBe(2);
		store.spending.reserve({ run: 2, model: 'm', amount: ten, owed: true, estimate }, 2);
		store.spending.settle(1, ten);
		expect(listTold(store)).toContain('ledger run_2.1');
	}));

test('a lease that is too old for the ledger is no report, so it needs no alarm', () =>
	onStore((store) => {
		store.spending.reserve({ run: 1, model: 'm', amount: ten, owed: true, estimate }, 1);
		store.spending.settle(1, ten);
		store.runs.end(1, 'completed', { before: [], draft: [], steps: 0, event: { type: 'cancelled' } }, 1);
		store.reports.lookBack();
		store.markReported(store.reports.list());
		expect(store.reports.isEmpty).toBe(true);
	}));

test('reports the cost of each model at the end of a lease, including failed requests', () =>
	onStore((store) => {
		const reserve = (model: string, more: object = {}) =>
			store.spending.reserve({ run: 1, model, amount: ten, owed: true, estimate, lease: 1, ...more }, 1);
		const answer = (call: number, more: object) =>
			store.messages.add(1, { role: 'assistant', content: 'so' }, 1, { cost: { call, tokens: 20, usd: 0.5, ...more } });
		reserve('m');
		answer(1, { inputTokens: 15, cachedInputTokens: 10, units: { web_searches: 1 }, isUnpriced: false });
		reserve('other', { estimate: { ...estimate, isUnpriced: true } });
		store.spending.settle(2, ten);
		reserve('m');
		answer(3, { inputTokens: 12, units: { web_searches: 2 }, isUnpriced: true });
		reserve('m', { lease: undefined });
		store.spending.settle(4, { tokens: 3, usd: 0.1 });
		reserve('free', { lease: undefined });
		store.spending.settle(5, ten);
		store.spending.lookBack();
		const told = store.reports.list().flatMap(({ message }) => (message.to === 'ledger' ? [message] : []));
		expect(told).toMatchObject([
			{
				agent: 'scripted',
				amount: { tokens: 50, usd: 1 },
				parts: [
					{
						...{ model: 'm', tokens: 40, usd: 1, unpricedTokens: 20 },
						...{ inputTokens: 27, cachedInputTokens: 10, units: { web_searches: 3 } },
					},
					{ model: 'other', tokens: 10, usd: 0, unpricedTokens: 10, inputTokens: 1, cachedInputTokens: 0 },
				],
			},
			{ amount: { tokens: 3 }, parts: [{ model: 'm', tokens: 3, usd: 0.1, unpricedTokens: 0 }] },
			{ amount: { tokens: 10 }, parts: [{ model: 'free', tokens: 10, usd: 0, unpricedTokens: 0 }] },
		]);
	}));

test('lists an ended lease as due until it is delivered or rolled back, and writes no row for the report', () =>
	onStore((store, readRows) => {
		store.markReported(store.listDue(0));
		store.spending.reserve({ run: 1, model: 'm', amount: ten, owed: true, estimate }, 1);
		expect(listTold(store)).toEqual([]);
		const undone = () =>
			store.transaction(() => {
				store.spending.settle(1, ten);
				throw new Error('undone');
			});
		expect(undone).toThrow('undone');
		expect([listTold(store), store.owesNothing]).toEqual([[], true]);
		readRows();
		store.spending.settle(1, ten);
		expect([listTold(store), store.owesNothing]).toEqual([['ledger run_1.1'], false]);
		store.markReported(store.listDue(0));
		expect([listTold(store), store.owesNothing]).toEqual([[], true]);
		expect(readRows().written).toBe(1);
	}));

test('the cost of a message is stored only in the row of the message, and is part of every sum', () =>
	onStore((store, readRows) => {
		const ask = (run: number) => store.spending.reserve({ run, model: 'm', amount: ten, owed: true, estimate }, 1);
		const reply = (call: number, tokens: number) =>
			store.messages.add(1, { role: 'assistant', content: '' }, 1, { cost: { call, tokens, usd: tokens / 2 } });
		readRows();
		ask(1);
		reply(1, 4);
		expect(readRows().written).toBe(2);
		ask(1);
		store.spending.settle(2, { tokens: 1, usd: 0.5 });
		ask(1);
		reply(3, 2);
		store.runs.begin({ n: 2, id: 'run_2', boot: 'b', firstSeq: 2, createdAt: 1 });
		ask(2);
		reply(4, 8);
		expect(store.spending.open()).toBeUndefined();
		ask(2);
		const sums = () => [store.spending.total(), store.spending.getRun(1), store.spending.getRun(2)];
		expect(sums()).toEqual([
			{ tokens: 15, usd: 7.5 },
			{ tokens: 15, usd: 7.5 },
			{ tokens: 8, usd: 4 },
		]);
		const list = () =>
			store.spending.after(0, 9).map(({ amount, isSettled }) => [amount.tokens, amount.usd, isSettled]);
		const settled = [
			[4, 2, true],
			[1, 0.5, true],
			[2, 1, true],
			[8, 4, true],
		];
		expect(list()).toEqual([...settled, [10, 0, false]]);
		reply(5, 16);
		expect(list()).toEqual([...settled, [16, 8, true]]);
		store.reports.lookBack();
		const told = store.spending.listUnreported(0).map(({ id, amount }) => [id, amount.tokens, amount.usd]);
		expect(told).toEqual([
			['run_1.1', 4, 2],
			['run_1.2', 1, 0.5],
			['run_1.3', 2, 1],
			['run_2.4', 8, 4],
			['run_2.5', 16, 8],
		]);
	}));

test('a failed report gets a row in the outbox, and is listed only once', () =>
	onStore((store) => {
		store.spending.reserve({ run: 1, model: 'm', amount: ten, owed: true, estimate }, 1);
		store.spending.settle(1, ten);
		store.retry(store.listDue(0), 0);
		expect(listTold(store)).toEqual([]);
		expect(store.outbox.nextAt()).toBe(10_000);
		expect(store.listDue(10_000).map(({ id, failed }) => [id, failed])).toEqual([
			['ledger run_1.1', 1],
			['list', 1],
		]);
	}));

test('the unreported cost of a removed session stays in the outbox, whichever instance removes it', async () => {
	for (const isNext of [false, true])
		await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), (_, { storage }) => {
			const first = createStore(storage);
			first.spending.reserve({ run: 1, model: 'm', amount: ten, owed: true, estimate }, 1);
			first.spending.settle(1, ten);
			const store = isNext ? new SessionStore(storage) : first;
			store.erase(1);
			const message = expect.objectContaining({ to: 'ledger', owner: 'o', call: 'run_1.1', amount: ten });
			expect(store.outbox.listDue(Number.POSITIVE_INFINITY)).toContainEqual(expect.objectContaining({ message }));
		});
});

test('reports a lease even if the report of a removed session with the same id is delivered meanwhile', () =>
	onStore((store) => {
		const begin = (id: string) => {
			store.spending.reserve({ run: 1, model: 'm', amount: ten, owed: true, estimate }, 1);
			store.spending.settle(1, ten);
			expect(listTold(store)).toContain(`ledger ${id}.1`);
		};
		begin('run_1');
		const onItsWay = store.listDue(0);
		store.erase(1);
		store.create({ id: 's', agent: 'scripted', owner: 'o', createdAt: 2, expiresAfterMs: hour });
		store.runs.begin({ n: 1, id: 'run_2', boot: 'b', firstSeq: 1, createdAt: 2 });
		begin('run_2');
		store.markReported(onItsWay);
		expect(listTold(store)).toContain('ledger run_2.1');
		expect(store.reports.isEmpty).toBe(false);
	}));

test('the text of a session is due five minutes after its last report, however many runs end until then', () =>
	onStore((store) => {
		store.markReported(store.listDue(0));
		const minute = 60_000;
		const listAt = (now: number) => store.reports.list(now).map(({ id }) => id);
		store.reports.noteText(hour);
		expect([listAt(hour), store.reports.findDueAt(hour)]).toEqual([['list'], hour]);
		store.markReported(store.reports.list(hour));
		for (const at of [1, 2, 4]) {
			store.reports.noteText(hour + at * minute);
			expect(listAt(hour + at * minute)).toEqual([]);
			expect(store.reports.findDueAt(hour + at * minute)).toBe(hour + 5 * minute);
		}
		const { outboxAt } = readFacts(store, [], { isLive: false });
		expect(outboxAt).toBeGreaterThan(hour + 5 * minute);
		const onItsWay = store.reports.list(hour + 5 * minute);
		expect(onItsWay).toHaveLength(1);
		// A run that ends during the delivery has a newer text.
		store.reports.noteText(hour + 5 * minute);
		store.markReported(onItsWay);
		expect(listAt(hour + 5 * minute)).toEqual(['list']);
		store.markReported(store.reports.list(hour + 5 * minute));
		expect(listAt(2 * hour)).toEqual([]);
	}));
