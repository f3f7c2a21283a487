import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { type Amount, budgetState, everything, nothing } from '../../../../src/cloudflare/objects/budget.ts';
import { type Day, formatDay, type UserCaps } from '../../../../src/cloudflare/objects/ledger/api.ts';
import { LedgerStore } from '../../../../src/cloudflare/objects/ledger/store.ts';
import { setClock } from '../../../clock.ts';
import { counted } from '../../../rows.ts';

afterEach(() => setClock());

/** A new ledger for each test. */
function newLedger() {
	return env.LEDGERS.get(env.LEDGERS.newUniqueId());
}

const ten: Amount = { tokens: 10, usd: 0.1 };
const five: Amount = { tokens: 5, usd: 0.05 };

describe('a reservation for a user', () => {
	test.each([
		['on the user’s daily spending', 'user-day', { daily: { tokens: 15 }, total: { tokens: 1_000 } }, 'daily'],
		['on the user’s total spending', 'user-total', { daily: { usd: 10 }, total: { usd: 0.15 } }, 'total'],
	] as const)('is refused with the budget’s state if it would exceed the cap %s', async (_, scope, caps, name) => {
		const ledger = newLedger();
		await ledger.setUserCaps('kim', caps);
		expect(await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 100 }, user: 'kim' })).toEqual({
			ok: true,
			amount: ten,
		});
		const state = budgetState(caps[name], nothing, ten);
		expect(await ledger.reserve({ id: 'b', amount: ten, limit: { tokens: 100 }, user: 'kim' })).toEqual({
			ok: false,
			scope,
			state,
		});
		expect(await ledger.reserve({ id: 'c', amount: five, limit: { tokens: 100 }, user: 'kim' })).toMatchObject({
			ok: true,
		});
		expect(await ledger.userState('kim')).toMatchObject({ [name]: { reserved: { tokens: 15, usd: 0.15 } } });
		expect(await ledger.state({})).toMatchObject({ reserved: { tokens: 15, usd: 0.15 } });
	});

	test('is checked against the owner’s daily budget before the user’s budgets', async () => {
		const ledger = newLedger();
		await ledger.setUserCaps('kim', { daily: { tokens: 5 } });
		expect(await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 5 }, user: 'kim' })).toMatchObject({
			ok: false,
			scope: 'day',
		});
		expect(await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 5 } })).toMatchObject({
			ok: false,
			scope: 'day',
		});
	});

	test('is not limited by another user’s cap', async () => {
		const ledger = newLedger();
		await ledger.setUserCaps('kim', { daily: { tokens: 5 } });
		for (const user of ['lee', undefined])
			expect(await ledger.reserve({ id: `of ${user}`, amount: ten, limit: { tokens: 50 }, user })).toEqual({
				ok: true,
				amount: ten,
			});
		expect(await ledger.userState('kim')).toMatchObject({ daily: { reserved: nothing, left: { tokens: 5 } } });
		expect(await ledger.userState('lee')).toMatchObject({ caps: {}, daily: { reserved: ten, left: {} } });
	});

	test('is accepted only if it fits the user’s cap, even among 50 parallel reservations', async () => {
		const ledger = newLedger();
		await ledger.setUserCaps('kim', { total: { usd: 1.55 } });
		const all = await Promise.all(
			Array.from({ length: 50 }, (_, n) => ledger.reserve({ id: `call ${n}`, amount: ten, limit: {}, user: 'kim' })),
		);
		expect(all.filter(({ ok }) => ok)).toHaveLength(15);
		expect((await ledger.userState('kim')).total).toMatchObject({ reserved: { usd: 1.5 }, left: { usd: 0.05 } });
	});

	test('covers the whole request only while every budget of the owner and the user has enough left', async () => {
		for (const caps of [{ daily: { tokens: 100 } }, { total: { tokens: 100 } }]) {
			const ledger = newLedger();
			await ledger.setUserCaps('kim', caps);
			const whole = { tokens: 30, usd: 0.2 };
			expect(await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 1_000 }, whole, user: 'kim' })).toEqual({
				ok: true,
				amount: whole,
			});
			expect(await ledger.reserve({ id: 'b', amount: ten, limit: { tokens: 1_000 }, whole, user: 'kim' })).toEqual({
				ok: true,
				amount: ten,
			});
			expect(await ledger.reserve({ id: 'c', amount: ten, limit: { tokens: 1_000 }, whole, user: 'lee' })).toEqual({
				ok: true,
				amount: whole,
			});
		}
	});

	test('reserves nothing if neither the owner nor the user has a cap, but its cost is counted', async () => {
		const ledger = newLedger();
		for (const _ of ['first', 'again'])
			expect(await ledger.reserve({ id: 'a', amount: ten, limit: {}, user: 'kim' })).toEqual({
				ok: true,
				amount: everything,
			});
		expect(await ledger.state({})).toMatchObject({ spent: nothing, reserved: nothing });
		for (const _ of ['first', 'again']) await ledger.settle([{ id: 'a', amount: five, user: 'kim' }]);
		expect(await ledger.state({})).toMatchObject({ spent: five, reserved: nothing });
		expect(await ledger.userState('kim')).toMatchObject({ daily: { spent: five }, total: { spent: five } });
	});

	test('of infinite tokens or dollars is refused if a cap has the same unit', async () => {
		const ledger = newLedger();
		const unpriced = { tokens: 10, usd: Number.POSITIVE_INFINITY };
		const endless = { tokens: Number.POSITIVE_INFINITY, usd: 0.1 };
		await ledger.setUserCaps('kim', { daily: { tokens: 100 } });
		expect(await ledger.reserve({ id: 'a', amount: endless, limit: {}, user: 'kim' })).toMatchObject({
			ok: false,
			scope: 'user-day',
		});
		for (const _ of ['first', 'again'])
			expect(await ledger.reserve({ id: 'b', amount: unpriced, limit: {}, user: 'kim' })).toEqual({
				ok: true,
				amount: unpriced,
			});
		expect(await ledger.userState('kim')).toMatchObject({ daily: { reserved: { tokens: 10, usd: 0 } } });
		await ledger.setUserCaps('kim', { total: { usd: 100 } });
		expect(await ledger.reserve({ id: 'c', amount: unpriced, limit: {}, user: 'kim' })).toMatchObject({
			ok: false,
			scope: 'user-total',
		});
		expect(await ledger.reserve({ id: 'd', amount: endless, limit: {}, user: 'kim' })).toEqual({
			ok: true,
			amount: endless,
		});
	});
});

describe('the spending of a user', () => {
	test('starts at 0 each day in the daily budget, and adds up in the total budget', async () => {
		const ledger = newLedger();
		setClock('2026-03-01T12:00:00Z');
		await ledger.setUserCaps('kim', { daily: { tokens: 20 }, total: { tokens: 40 } });
		for (const day of ['2026-03-01', '2026-03-02']) {
			setClock(`${day}T12:00:00Z`);
			await ledger.reserve({ id: day, amount: ten, limit: {}, user: 'kim' });
			await ledger.settle([{ id: day, amount: { tokens: 18, usd: 0.2 }, user: 'kim' }]);
			expect((await ledger.userState('kim')).daily).toMatchObject({ spent: { tokens: 18 }, left: { tokens: 2 } });
		}
		expect((await ledger.userState('kim')).total).toMatchObject({
			spent: { tokens: 36, usd: 0.4 },
			left: { tokens: 4 },
		});
		setClock('2026-05-01T12:00:00Z');
		expect(await ledger.reserve({ id: 'late', amount: five, limit: {}, user: 'kim' })).toMatchObject({
			ok: false,
			scope: 'user-total',
		});
		expect((await ledger.userState('kim')).daily).toMatchObject({ spent: nothing, left: { tokens: 20 } });
	});

	test('is counted on the day of the reservation, even if the lease is settled on a later day', async () => {
		const ledger = newLedger();
		setClock('2026-03-01T23:59:00Z');
		await ledger.setUserCaps('kim', { total: { tokens: 100 } });
		await ledger.reserve({ id: 'late', amount: ten, limit: {}, user: 'kim' });
		await ledger.reserve({ id: 'lost', amount: ten, limit: {}, user: 'kim' });
		setClock('2026-03-02T00:01:00Z');
		await ledger.reserve({ id: 'next', amount: ten, limit: {}, user: 'kim' });
		expect((await ledger.userState('kim')).total).toMatchObject({ spent: nothing, reserved: { tokens: 30 } });
		await ledger.settle([{ id: 'late', amount: { tokens: 4, usd: 0 }, user: 'kim' }]);
		expect((await ledger.userState('kim')).total).toMatchObject({ spent: { tokens: 4 }, reserved: { tokens: 20 } });
		expect(await ledger.userDays('kim', 2)).toEqual([
			{ day: '2026-03-02', spent: nothing, reserved: ten },
			{ day: '2026-03-01', spent: { tokens: 4, usd: 0 }, reserved: ten },
		]);
		// Two leases stayed open until their days were removed.
		setClock('2026-03-10T12:00:00Z');
		expect((await ledger.userState('kim')).total).toMatchObject({ spent: { tokens: 24 }, reserved: nothing });
	});

	test('stays when the caps are removed, and counts when new caps are set', async () => {
		const ledger = newLedger();
		await ledger.setUserCaps('kim', { daily: { tokens: 50 } });
		await ledger.reserve({ id: 'a', amount: ten, limit: {}, user: 'kim' });
		await ledger.settle([{ id: 'a', amount: ten, user: 'kim' }]);
		await ledger.setUserCaps('kim', { daily: {} });
		expect(await ledger.userState('kim')).toMatchObject({ caps: {}, daily: { limit: {}, spent: ten, left: {} } });
		await ledger.setUserCaps('kim', { daily: { tokens: 15 }, total: {} });
		expect((await ledger.userState('kim')).caps).toEqual({ daily: { tokens: 15 } });
		expect(await ledger.reserve({ id: 'b', amount: ten, limit: {}, user: 'kim' })).toMatchObject({
			ok: false,
			scope: 'user-day',
		});
	});

	test('includes the cost of an unknown lease once, if the cost names the user', async () => {
		const ledger = newLedger();
		for (const _ of ['first', 'again']) await ledger.settle([{ id: 'a', amount: ten, user: 'kim' }]);
		await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 100 }, user: 'kim' });
		expect((await ledger.userState('kim')).total).toMatchObject({ spent: ten, reserved: nothing });
	});

	test('includes the cost of a lease that was reserved for the user, even if the cost names no user', async () => {
		const ledger = newLedger();
		await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 100 }, user: 'kim' });
		await ledger.settle([{ id: 'a', amount: five }]);
		expect((await ledger.userState('kim')).total).toMatchObject({ spent: five, reserved: nothing });
	});

	test('includes the cost of a lease that was reserved without a user, if the cost names the user', async () => {
		const ledger = newLedger();
		await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 100 } });
		await ledger.reserve({ id: 'b', amount: ten, limit: { tokens: 100 }, user: 'kim' });
		await ledger.settle([{ id: 'a', amount: five, user: 'kim' }]);
		expect((await ledger.userState('kim')).total).toMatchObject({ spent: five, reserved: ten });
		expect(await ledger.state({})).toMatchObject({ spent: five, reserved: ten });
	});

	test('survives a restart together with the reservations and the caps', async () => {
		const ledger = newLedger();
		await ledger.setUserCaps('kim', { daily: { tokens: 25 } });
		await ledger.reserve({ id: 'a', amount: ten, limit: {}, user: 'kim' });
		await ledger.reserve({ id: 'b', amount: ten, limit: {}, user: 'kim' });
		await ledger.settle([{ id: 'b', amount: five, user: 'kim' }]);
		await evictDurableObject(ledger);
		expect((await ledger.userState('kim')).daily).toEqual(budgetState({ tokens: 25 }, five, ten));
	});
});

test('the lease of a user writes four rows, and reads a constant number of rows', async () => {
	await runInDurableObject(newLedger(), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		const store = new LedgerStore(counting);
		store.users.setCaps('kim', { daily: { tokens: 1e9 }, total: { tokens: 1e9 } });
		const lend = (id: string, today: number, user: string) => {
			store.reserve(today, { id, amount: ten, user, limit: {} });
			store.settle(today, [{ id, amount: ten, user }]);
		};
		const readCost = (id: string) => {
			// The first lease of a day also removes old days.
			lend(`first ${id}`, 1_000, 'kim');
			rows();
			lend(id, 1_000, 'kim');
			return rows();
		};
		for (let day = 995; day < 1_000; day++) for (const user of ['kim', 'zoe']) lend(`${user} ${day}`, day, user);
		const cost = readCost('one');
		expect(cost.written).toBe(4);
		for (let n = 0; n < 300; n++) lend(`many ${n}`, 1_000, `user ${n}`);
		for (let day = 1; day < 300; day++) store.users.change('kim', day, { spend: ten });
		expect(readCost('two')).toEqual(cost);
	});
});

const users = ['kim', 'lee', undefined] as const;
const cap = fc.record({ tokens: fc.nat(150), usd: fc.nat(150).map((cents) => cents / 100) }, { requiredKeys: [] });
const happening = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			kind: fc.constantFrom('reserve' as const, 'settle' as const),
			id: fc.nat(39).map(String),
			user: fc.constantFrom(...users),
			tokens: fc.nat(12),
			usd: fc.double({ min: 0, max: 0.12, noNaN: true }),
			/** The whole lease minus the needed lease. */
			times: fc.integer({ min: 1, max: 4 }),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			kind: fc.constant('caps' as const),
			user: fc.constantFrom('kim', 'lee'),
			caps: fc.record({ daily: cap, total: cap }, { requiredKeys: [] }),
		}),
	},
	{ weight: 1, arbitrary: fc.constantFrom({ kind: 'midnight' as const }, { kind: 'back' as const }) },
);

/** Dollars as integers, so that the model’s sums are exact. */
const exact = (usd: number): bigint => BigInt(Math.round(usd * 1e12));
const toExact = ({ tokens, usd }: Amount) => ({ tokens, usd: exact(usd) });

interface Entry {
	readonly user: string | undefined;
	readonly day: number;
	readonly tokens: number;
	readonly usd: bigint;
	readonly settled: boolean;
}

function sum(entries: readonly Entry[]) {
	return {
		tokens: entries.reduce((total, { tokens }) => total + tokens, 0),
		usd: entries.reduce((total, { usd }) => total + usd, 0n),
	};
}

/** All leases of a model ledger, and the leases that the ledger still has. */
class ModelLedger {
	readonly caps = new Map<string, UserCaps>();
	readonly #entries = new Set<Entry>();
	readonly #known = new Map<string, Entry>();

	forget(today: number): void {
		for (const [id, { day }] of this.#known) if (day < today - 2) this.#known.delete(id);
	}

	find(id: string): Entry | undefined {
		return this.#known.get(id);
	}

	put(id: string, entry: Entry): void {
		const before = this.#known.get(id);
		if (before !== undefined) this.#entries.delete(before);
		this.#known.set(id, entry);
		this.#entries.add(entry);
	}

	select(isWanted: (entry: Entry) => boolean): readonly Entry[] {
		return [...this.#entries].filter(isWanted);
	}

	budgets(user: string | undefined, today: number, limit: UserCaps['daily']) {
		const { daily = {}, total = {} } = this.caps.get(user ?? '') ?? {};
		const ofDay = this.select(({ day }) => day === today);
		const ofUser = this.select((entry) => entry.user === user);
		const owners = { scope: 'day', limit: limit ?? {}, entries: ofDay };
		if (user === undefined) return [owners];
		const ofBoth = ofUser.filter(({ day }) => day === today);
		return [
			owners,
			{ scope: 'user-day', limit: daily, entries: ofBoth },
			{ scope: 'user-total', limit: total, entries: ofUser },
		];
	}

	listDays(user: string, first: number): Day[] {
		const all = this.select((entry) => entry.user === user && entry.day >= first);
		return [...new Set(all.map(({ day }) => day))].map((day) => {
			const toAmount = (settled: boolean) => {
				const { tokens, usd } = sum(all.filter((entry) => entry.day === day && entry.settled === settled));
				return { tokens, usd: Number(usd) / 1e12 };
			};
			return { day: formatDay(day), spent: toAmount(true), reserved: toAmount(false) };
		});
	}
}

function assertSums(store: LedgerStore, model: ModelLedger, today: number, first: number): void {
	for (const user of ['kim', 'lee']) {
		const { caps, daily, total } = store.users.state(user, today);
		expect(caps).toEqual(model.caps.get(user) ?? {});
		const ofUser = model.select((entry) => entry.user === user);
		const isOpen = ({ settled, day }: Entry) => !settled && day >= today - 2;
		expect([toExact(total.spent), toExact(total.reserved)]).toEqual([
			sum(ofUser.filter((entry) => !isOpen(entry))),
			sum(ofUser.filter(isOpen)),
		]);
		const inOrder = (days: readonly Day[]) =>
			days
				.map(({ day, spent, reserved }) => [day, toExact(spent), toExact(reserved)])
				.toSorted((a, b) => (`${a[0]}` < `${b[0]}` ? -1 : 1));
		expect(inOrder(store.users.days(user, first))).toEqual(inOrder(model.listDays(user, first)));
		const ofDay = ofUser.filter(({ day }) => day === today);
		expect([toExact(daily.spent), toExact(daily.reserved)]).toEqual([
			sum(ofDay.filter(({ settled }) => settled)),
			sum(ofDay.filter(({ settled }) => !settled)),
		]);
	}
	const ofOwner = new Map(store.days(first).map(({ day, spent, reserved }) => [day, [spent, reserved].map(toExact)]));
	for (const on of ofOwner.keys()) {
		const ofDay = model.select(({ day }) => formatDay(day) === on);
		expect(ofOwner.get(on)).toEqual([
			sum(ofDay.filter(({ settled }) => settled)),
			sum(ofDay.filter(({ settled }) => !settled)),
		]);
	}
}

test('in random orders with changed caps and days, no reservation exceeds a cap, and all sums match the leases', async () => {
	await runInDurableObject(newLedger(), (_, { storage }) => {
		fc.assert(
			fc.property(
				fc.array(happening, { maxLength: 120, size: 'max' }),
				fc.constantFrom({}, { tokens: 200, usd: 2 }),
				(happenings, limit) => {
					storage.sql.exec('DELETE FROM call; DELETE FROM day; DELETE FROM past;');
					storage.sql.exec('DELETE FROM user_day; DELETE FROM user_cap;');
					const store = new LedgerStore(storage);
					const model = new ModelLedger();
					const first = 20_000;
					let today = first;
					let newest = first;
					for (const what of happenings) {
						if (what.kind === 'midnight') newest = Math.max(newest, ++today);
						// A clock may return to the previous day.
						else if (what.kind === 'back') today = Math.max(first, newest - 1);
						else if (what.kind === 'caps') {
							const { daily, total } = what.caps;
							store.users.setCaps(what.user, what.caps);
							const isCap = (one: UserCaps['daily']) => one !== undefined && Object.keys(one).length > 0;
							model.caps.set(what.user, { ...(isCap(daily) && { daily }), ...(isCap(total) && { total }) });
						} else {
							model.forget(today);
							act(store, model, today, what, limit);
						}
						assertSums(store, model, today, first);
					}
				},
			),
			{ numRuns: 100 },
		);
	});
});

type Act = Extract<typeof happening extends fc.Arbitrary<infer T> ? T : never, { readonly id: string }>;

function act(store: LedgerStore, model: ModelLedger, today: number, what: Act, limit: object): void {
	const { kind, id, tokens, times, user } = what;
	const usd = exact(what.usd);
	const before = model.find(id);
	if (kind === 'settle') {
		store.settle(today, [{ id, amount: what, user }]);
		if (before?.settled === true) return;
		// A lease without a user gets the user of its cost.
		const payer = before?.user ?? user;
		model.put(id, { user: payer, day: before?.day ?? today, tokens, usd, settled: true });
		return;
	}
	const whole = { tokens: times * tokens, usd: times * what.usd };
	const answer = store.reserve(today, { id, amount: what, whole, user, limit });
	if (before !== undefined) {
		expect(answer.ok).toBe(true);
		return;
	}
	const budgets = model.budgets(user, today, limit);
	const passed = budgets.find(({ limit: most, entries }) => {
		const { tokens: allTokens, usd: allUsd } = sum(entries);
		const isPast = most.tokens !== undefined && allTokens + tokens > most.tokens;
		return isPast || (most.usd !== undefined && allUsd + usd > exact(most.usd));
	});
	expect(answer.ok ? undefined : answer.scope).toBe(passed?.scope);
	if (!answer.ok) return;
	const amount = answer.amount ?? nothing;
	const isCapped = budgets.some(({ limit: most }) => Object.keys(most).length > 0);
	expect(Number.isFinite(amount.tokens)).toBe(isCapped || user === undefined);
	if (!isCapped && user !== undefined) return;
	model.put(id, { user, day: today, ...toExact(amount), settled: false });
	for (const { limit: most, entries } of model.budgets(user, today, limit)) {
		const { tokens: allTokens, usd: allUsd } = sum(entries);
		expect(allTokens).toBeLessThanOrEqual(most.tokens ?? Number.POSITIVE_INFINITY);
		expect(most.usd === undefined || allUsd <= exact(most.usd)).toBe(true);
	}
}
