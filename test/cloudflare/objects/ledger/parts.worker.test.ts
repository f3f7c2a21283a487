/** The spending by agent, model, user and unit. */
import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import type { Cost, CostPart, LedgerApi } from '../../../../src/cloudflare/objects/ledger/api.ts';
import { setClock } from '../../../clock.ts';

afterEach(() => setClock());

const newLedger = () => env.LEDGERS.get(env.LEDGERS.newUniqueId());

const part = (tokens: number, more: Partial<CostPart> = {}): CostPart => ({
	...{ model: 'm', tokens, usd: tokens / 1_000, unpricedTokens: 0, inputTokens: 0, cachedInputTokens: 0 },
	...more,
});

const cost = (id: string, tokens: number, more: Partial<Cost> = {}, ofPart: Partial<CostPart> = {}): Cost => ({
	...{ id, amount: { tokens, usd: tokens / 1_000 }, agent: 'a', parts: [part(tokens, ofPart)] },
	...more,
});

const all = ['agent', 'model', 'user'] as const;

async function readTokens(ledger: Pick<LedgerApi, 'parts'>): Promise<Record<string, number>> {
	const sums: Record<string, number> = {};
	for (const { agent, model, user = '', tokens } of await ledger.parts(all, 90)) {
		const name = `${agent} ${model} ${user}`;
		sums[name] = (sums[name] ?? 0) + tokens;
	}
	return sums;
}

test('counts a lease once for each agent, model, user and unit, even if the lease is settled repeatedly', async () => {
	const ledger = newLedger();
	const parts = [
		part(100, { inputTokens: 80, cachedInputTokens: 60, units: { web_searches: 2 } }),
		part(50, { model: 'other', usd: 0, unpricedTokens: 50 }),
	];
	const told = { id: 'one', amount: { tokens: 150, usd: 0.1 }, user: 'kim', agent: 'a', parts };
	await ledger.reserve({ id: 'one', amount: { tokens: 200, usd: 1 }, limit: { tokens: 1_000 }, user: 'kim' });
	for (const _ of ['first', 'again']) {
		await ledger.settle([told, told]);
		await evictDurableObject(ledger);
	}
	// A cost without a reservation, and a lease in a row of its own.
	await ledger.settle([cost('two', 7, {}, { units: { web_searches: 1 } })]);
	await ledger.reserve({ id: 'three', amount: { tokens: 1, usd: 0 }, limit: { tokens: 1_000 } });
	await ledger.settle([told]);
	expect(await readTokens(ledger)).toEqual({ 'a m kim': 100, 'a other kim': 50, 'a m ': 7 });
	expect(await ledger.parts([], 1)).toMatchObject([
		{ tokens: 157, unpricedTokens: 50, inputTokens: 80, cachedInputTokens: 60, units: { web_searches: 3 } },
	]);
	expect(await ledger.days(1)).toMatchObject([{ spent: { tokens: 157 }, unpricedTokens: 50 }]);
	expect(await ledger.userDays('kim', 1)).toMatchObject([{ spent: { tokens: 150 }, unpricedTokens: 50 }]);
	expect(await ledger.parts(['model'], 1, 'kim')).toMatchObject([
		{ model: 'm', tokens: 100 },
		{ model: 'other', tokens: 50 },
	]);
});

test('counts a cost that names neither an agent nor a model under the name `*`', async () => {
	const ledger = newLedger();
	await ledger.settle([{ id: 'one', amount: { tokens: 5, usd: 1 }, user: 'kim' }]);
	await ledger.settle([{ id: 'none', amount: { tokens: 0, usd: 0 } }]);
	expect(await readTokens(ledger)).toEqual({ '* * kim': 5 });
});

test('a day lists a bounded number of users and models, and adds up all others under `*`', async () => {
	const ledger = newLedger();
	const size = () =>
		runInDurableObject(
			ledger,
			(_, { storage }) => storage.sql.exec<{ size: number }>('SELECT COUNT(*) AS size FROM part').one().size,
		);
	const costs = Array.from({ length: 1_500 }, (_, n) => {
		const model = n < 1_000 ? 'm' : `model ${n}`;
		return cost(`${n}`, 1, { user: `user-${n}`, agent: n < 1_200 ? 'a' : `agent ${n}` }, { model });
	});
	for (let from = 0; from < costs.length; from += 100) await ledger.settle(costs.slice(from, from + 100));
	expect(await size()).toBeLessThanOrEqual(601);
	const tokens = await readTokens(ledger);
	expect(tokens['a m user-1']).toBe(1);
	expect(tokens['a m *']).toBeGreaterThan(400);
	expect(tokens['* * *']).toBeGreaterThan(100);
	expect(Object.values(tokens).reduce((sum, one) => sum + one, 0)).toBe(1_500);
	// Known names still count separately.
	await ledger.settle([cost('more', 10, { user: 'user-1' })]);
	expect((await readTokens(ledger))['a m user-1']).toBe(11);
});

test('keeps the spending of each agent, model and user for 90 days', async () => {
	const ledger = newLedger();
	setClock('2026-01-01');
	await ledger.settle([cost('old', 3)]);
	setClock('2026-03-31');
	await ledger.settle([cost('newer', 4)]);
	const days = async () => (await ledger.parts(['agent'], 400)).map(({ day, tokens }) => [day, tokens]);
	expect(await days()).toEqual([
		['2026-03-31', 4],
		['2026-01-01', 3],
	]);
	setClock('2026-04-01');
	await ledger.settle([cost('newest', 5)]);
	expect(await days()).toEqual([
		['2026-04-01', 5],
		['2026-03-31', 4],
	]);
	expect(await ledger.days(400)).toHaveLength(3);
});

test('erasing a user removes the user’s name from all spending, and keeps the sums', async () => {
	const ledger = newLedger();
	setClock('2026-01-01');
	await ledger.settle([cost('past', 1, { user: 'kim' })]);
	setClock('2026-01-10');
	await ledger.settle(Array.from({ length: 40 }, (_, n) => cost(`row ${n}`, 1, { user: n === 0 ? 'kim' : `u${n}` })));
	await ledger.settle([cost('today', 10, { user: 'kim' })]);
	await ledger.reserve({ id: 'open', amount: { tokens: 100, usd: 1 }, limit: { tokens: 1_000 }, user: 'kim' });
	await ledger.settle([cost('open', 100, { user: 'kim' })]);
	expect((await ledger.parts([], 90, 'kim')).map(({ tokens }) => tokens)).toEqual([111, 1]);
	await ledger.eraseUser('kim');
	expect(await ledger.parts(all, 90, 'kim')).toEqual([]);
	const rows = await runInDurableObject(ledger, (_, { storage }) => [
		...storage.sql.exec('SELECT * FROM part').toArray(),
		...storage.sql.exec('SELECT parts FROM day').toArray(),
		...storage.sql.exec('SELECT parts FROM past').toArray(),
	]);
	expect(JSON.stringify(rows)).not.toContain('kim');
	const tokens = await readTokens(ledger);
	expect(tokens['a m *']).toBe(112);
	expect(tokens['a m u1']).toBe(1);
	expect((await ledger.userState('kim')).total.spent.tokens).toBe(112);
});

const name = fc.constantFrom('x', 'y', 'z');
const happening = fc.record({
	id: fc.nat(30).map(String),
	kind: fc.constantFrom('reserve', 'settle', 'settle', 'restart', 'next day'),
	agent: name,
	model: name,
	user: fc.option(name, { nil: undefined }),
	tokens: fc.integer({ min: 1, max: 9 }),
});

test('in random orders with restarts and midnights, the parts of the spending add up to the total', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(happening, { maxLength: 60 }), async (happenings) => {
			const ledger = newLedger();
			let day = 0;
			setClock('2026-05-01');
			const first = new Map<string, (typeof happenings)[number]>();
			const users = new Map<string, string | undefined>();
			for (const one of happenings) {
				const { id, kind, agent, model, user, tokens } = one;
				if (kind === 'restart') {
					await ledger.state({});
					await evictDurableObject(ledger);
				} else if (kind === 'next day') setClock(`2026-05-0${1 + Math.min(2, ++day)}`);
				else if (kind === 'reserve') {
					await ledger.reserve({ id, amount: { tokens: 20, usd: 0 }, limit: { tokens: 1_000 }, user });
					if (!first.has(id) && !users.has(id)) users.set(id, user);
				} else {
					await ledger.settle([cost(id, tokens, { agent, user }, { model })]);
					if (!first.has(id)) first.set(id, one);
				}
			}
			const expected: Record<string, number> = {};
			for (const [id, { agent, model, user, tokens }] of first) {
				const key = `${agent} ${model} ${users.get(id) ?? user ?? ''}`;
				expected[key] = (expected[key] ?? 0) + tokens;
			}
			const found = await readTokens(ledger);
			expect(found).toEqual(expected);
			const days = await ledger.days(90);
			const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0);
			expect(sum(Object.values(found))).toBe(sum(days.map(({ spent }) => spent.tokens)));
		}),
		{ numRuns: 40 },
	);
});
