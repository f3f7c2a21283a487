import { env, evictDurableObject, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, assert, describe, expect, test } from 'vitest';
import { type Amount, nothing } from '../../../../src/cloudflare/objects/budget.ts';
import { type LeaseRequest, type LedgerApi, toDay } from '../../../../src/cloudflare/objects/ledger/api.ts';
import { Ledger } from '../../../../src/cloudflare/objects/ledger/object.ts';
import { LedgerStore } from '../../../../src/cloudflare/objects/ledger/store.ts';
import { setClock } from '../../../clock.ts';
import { counted } from '../../../rows.ts';

afterEach(() => setClock());

/** A new ledger for each test. */
function newLedger() {
	return env.LEDGERS.get(env.LEDGERS.newUniqueId());
}

/** The ids of a ledger’s leases, in the rows of days and in their own rows. */
function calls(ledger: ReturnType<typeof newLedger>): Promise<unknown[]> {
	return runInDurableObject(ledger, (_, { storage }) =>
		storage.sql
			.exec("SELECT id FROM call UNION SELECT json_extract(value, '$[0]') AS id FROM day, json_each(day.open)")
			.toArray(),
	);
}

const ten: Amount = { tokens: 10, usd: 0.1 };

test('a settled cost replaces its reservation', async () => {
	const ledger = newLedger();
	const limit = { tokens: 100, usd: 1 };
	expect(await ledger.reserve({ id: 'a', amount: ten, limit })).toEqual({ ok: true, amount: ten });
	expect(await ledger.state(limit)).toEqual({
		limit,
		spent: nothing,
		reserved: ten,
		left: { tokens: 90, usd: 0.9 },
	});
	await ledger.settle([{ id: 'a', amount: { tokens: 7, usd: 0.07 } }]);
	expect(await ledger.state(limit)).toEqual({
		limit,
		spent: { tokens: 7, usd: 0.07 },
		reserved: nothing,
		left: { tokens: 93, usd: 0.93 },
	});
});

test('performs a call before its deadline, and refuses a late call', async () => {
	const ledger = newLedger();
	await ledger.reserve({ id: 'a', amount: ten, limit: {} });
	const spent = async () => (await ledger.state({})).spent;
	const costs = [{ id: 'a', amount: ten }];
	await runInDurableObject(ledger, async (one) => {
		assert(one instanceof Ledger);
		const late = Date.now() - 1;
		for (const call of [one.settle(costs, late), one.state({}, late), one.userState('ada', late)])
			await expect(call).rejects.toMatchObject({ code: 'overloaded' });
	});
	expect(await spent()).toEqual(nothing);
	await ledger.settle(costs, Date.now() + 60_000);
	expect(await spent()).toEqual(ten);
});

test('settles each cost of a list once, or settles no cost if one amount is invalid', async () => {
	const ledger = newLedger();
	await ledger.reserve({ id: 'a', amount: ten, limit: {} });
	await ledger.reserve({ id: 'b', amount: ten, limit: {} });
	await ledger.settle([{ id: 'b', amount: ten }]);
	const costs = ['a', 'b', 'c', 'a'].map((id) => ({ id, amount: { tokens: 3, usd: 0 } }));
	await runInDurableObject(ledger, (_, { storage }) => {
		const store = new LedgerStore(storage);
		const bad = [...costs, { id: 'd', amount: { tokens: -1, usd: 0 } }];
		expect(() => store.settle(toDay(Date.now()), bad)).toThrow(/^tokens: must be a number/);
	});
	expect(await ledger.state({})).toMatchObject({ spent: ten, reserved: ten });
	for (const _ of ['first', 'again']) {
		await ledger.settle(costs);
		expect(await ledger.state({})).toMatchObject({ spent: { tokens: 16 }, reserved: nothing });
	}
});

test('accepts as many of 50 parallel reservations as fit, and refuses the others with the budget state', async () => {
	for (const limit of [{ tokens: 305 }, { usd: 3.05 }, { tokens: 305, usd: 100 }]) {
		const ledger = newLedger();
		const all = await Promise.all(
			Array.from({ length: 50 }, (_, n) => ledger.reserve({ id: `call ${n}`, amount: ten, limit })),
		);
		expect(all.filter(({ ok }) => ok)).toHaveLength(30);
		const full = await ledger.state(limit);
		expect(full).toMatchObject({ spent: nothing, reserved: { tokens: 300, usd: 3 } });
		for (const answer of all) if (!answer.ok) expect(answer.state).toEqual(full);
		expect(await calls(ledger)).toHaveLength(30);
	}
});

test('a repeated reservation or settlement changes nothing', async () => {
	const ledger = newLedger();
	const limit = { tokens: 15 };
	for (let times = 0; times < 3; times++)
		expect(await ledger.reserve({ id: 'a', amount: ten, limit })).toEqual({ ok: true, amount: ten });
	expect((await ledger.state(limit)).reserved).toEqual(ten);
	await ledger.settle([{ id: 'a', amount: ten }]);
	await ledger.settle([{ id: 'a', amount: { tokens: 999, usd: 9 } }]);
	expect(await ledger.reserve({ id: 'a', amount: ten, limit })).toEqual({ ok: true, amount: ten });
	expect(await ledger.state(limit)).toMatchObject({ spent: ten, reserved: nothing });
});

test('a cost without a reservation is charged once, and a later reservation with its id reserves nothing', async () => {
	const ledger = newLedger();
	await ledger.settle([{ id: 'a', amount: ten }]);
	await ledger.settle([{ id: 'a', amount: ten }]);
	await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 100 } });
	expect(await ledger.state({ tokens: 10 })).toMatchObject({ spent: ten, reserved: nothing, left: { tokens: 0 } });
});

test('a cost above its reservation counts in full, and the next call is refused', async () => {
	const ledger = newLedger();
	await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 10 } });
	await ledger.settle([{ id: 'a', amount: { tokens: 25, usd: 1 } }]);
	expect(await ledger.reserve({ id: 'b', amount: nothing, limit: { tokens: 10 } })).toMatchObject({
		ok: false,
		state: { spent: { tokens: 25, usd: 1 }, left: { tokens: 0 } },
	});
});

test('refuses an invalid amount, and keeps the reservation', async () => {
	const ledger = newLedger();
	await ledger.reserve({ id: 'a', amount: ten, limit: {} });
	await runInDurableObject(ledger, (_, { storage }) => {
		const store = new LedgerStore(storage);
		const today = toDay(Date.now());
		expect(() => store.reserve(today, { id: 'b', amount: { tokens: Number.NaN, usd: 0 }, limit: {} })).toThrow(
			/^tokens: must be a number/,
		);
		expect(() => store.settle(today, [{ id: 'a', amount: { tokens: 1, usd: -1 } }])).toThrow(/^usd: must be a number/);
	});
	expect(await ledger.state({})).toMatchObject({ spent: nothing, reserved: ten });
});

test('a call counts on the day of its reservation, and the next day has its own budget', async () => {
	const ledger = newLedger();
	const limit = { tokens: 20 };
	setClock('2026-03-01T23:59:59.999Z');
	await ledger.reserve({ id: 'late', amount: ten, limit });
	await ledger.reserve({ id: 'lost', amount: ten, limit });
	expect(await ledger.reserve({ id: 'refused', amount: ten, limit })).toMatchObject({ ok: false });
	setClock('2026-03-02T00:00:00.000Z');
	expect(await ledger.reserve({ id: 'late', amount: ten, limit })).toEqual({ ok: true, amount: ten });
	expect(await ledger.state(limit)).toMatchObject({ spent: nothing, reserved: nothing });
	expect(await ledger.reserve({ id: 'next', amount: ten, limit })).toEqual({ ok: true, amount: ten });
	await ledger.settle([{ id: 'late', amount: { tokens: 4, usd: 0 } }]);
	expect(await ledger.state(limit)).toMatchObject({ spent: nothing, reserved: ten });
	setClock('2026-03-01T12:00:00Z');
	expect(await ledger.state(limit)).toMatchObject({ spent: { tokens: 4, usd: 0 }, reserved: ten });
});

test('a call is charged once, even if the clock goes back to the previous day', async () => {
	const ledger = newLedger();
	setClock('2026-03-02T00:00:00.001Z');
	await ledger.reserve({ id: 'a', amount: ten, limit: {} });
	setClock('2026-03-01T23:59:59.999Z');
	await ledger.settle([{ id: 'a', amount: ten }]);
	expect((await ledger.state({})).spent).toEqual(nothing);
	setClock('2026-03-02T12:00:00Z');
	expect(await ledger.state({})).toMatchObject({ spent: ten, reserved: nothing });
});

test('ignores a repeated settlement for two days, and charges it again after that', async () => {
	const ledger = newLedger();
	setClock('2026-03-01T12:00:00Z');
	await ledger.reserve({ id: 'a', amount: ten, limit: {} });
	await ledger.reserve({ id: 'b', amount: ten, limit: {} });
	await ledger.settle([{ id: 'a', amount: ten }]);
	setClock('2026-03-03T23:00:00Z');
	await ledger.settle([{ id: 'a', amount: ten }]);
	await ledger.settle([{ id: 'b', amount: ten }]);
	await ledger.settle([{ id: 'b', amount: ten }]);
	expect(await ledger.state({})).toMatchObject({ spent: nothing, reserved: nothing });
	setClock('2026-03-04T00:00:00Z');
	await ledger.settle([{ id: 'a', amount: ten }]);
	await ledger.settle([{ id: 'a', amount: ten }]);
	expect(await ledger.state({})).toMatchObject({ spent: ten, reserved: nothing });
});

test('later calls to a ledger delete the rows of old days in batches', async () => {
	const ledger = newLedger();
	setClock('2026-03-01T12:00:00Z');
	await runInDurableObject(ledger, (_, { storage }) => {
		const store = new LedgerStore(storage);
		for (let n = 0; n < 2_500; n++) store.settle(20_513, [{ id: `old ${n}`, amount: ten }]);
	});
	setClock('2026-03-03T12:00:00Z');
	await ledger.reserve({ id: 'kept', amount: ten, limit: {} });
	expect(await calls(ledger)).toHaveLength(2_501);
	setClock('2026-03-04T12:00:00Z');
	for (const rest of [1_501, 501, 1, 1]) {
		await ledger.reserve({ id: 'kept', amount: ten, limit: {} });
		expect(await calls(ledger)).toHaveLength(rest);
	}
	const days = await runInDurableObject(ledger, (_, { storage }) => storage.sql.exec('SELECT day FROM day').toArray());
	expect(days).toEqual([{ day: 20_515 }]);
});

test('a ledger looks for rows of old days once a day', async () => {
	await runInDurableObject(newLedger(), (_, { storage }) => {
		const store = new LedgerStore(storage);
		let looks = 0;
		const exec = storage.sql.exec.bind(storage.sql);
		Object.defineProperty(storage.sql, 'exec', {
			value: (...given: Parameters<typeof exec>) => {
				if (/WHERE day < /.test(given[0])) looks++;
				return exec(...given);
			},
		});
		const countLooks = (today: number) => {
			looks = 0;
			store.settle(today, [{ id: `of ${today}`, amount: ten }]);
			return looks;
		};
		expect(countLooks(20_513)).toBeGreaterThan(0);
		expect(countLooks(20_513)).toBe(0);
		expect(countLooks(20_514)).toBeGreaterThan(0);
	});
});

test('keeps spending and reservations after a restart', async () => {
	const ledger = newLedger();
	const limit = { tokens: 30 };
	await ledger.reserve({ id: 'a', amount: ten, limit });
	await ledger.reserve({ id: 'b', amount: ten, limit });
	await ledger.settle([{ id: 'b', amount: { tokens: 15, usd: 0.2 } }]);
	await evictDurableObject(ledger);
	expect(await ledger.state(limit)).toMatchObject({ spent: { tokens: 15, usd: 0.2 }, reserved: ten });
	await ledger.settle([{ id: 'b', amount: ten }]);
	expect(await ledger.reserve({ id: 'a', amount: ten, limit })).toEqual({ ok: true, amount: ten });
	expect(await ledger.reserve({ id: 'c', amount: ten, limit })).toMatchObject({ ok: false });
});

test('a lease covers the whole request while at most half of the remaining budget is reserved, then only the next call', async () => {
	const ledger = newLedger();
	const limit = { tokens: 100, usd: 10 };
	const whole = { tokens: 25, usd: 0.2 };
	expect(await ledger.reserve({ id: 'a', amount: ten, limit, whole })).toEqual({ ok: true, amount: whole });
	expect(await ledger.reserve({ id: 'b', amount: ten, limit, whole })).toEqual({ ok: true, amount: whole });
	for (const id of ['c', 'd', 'e', 'f', 'g'])
		expect(await ledger.reserve({ id, amount: ten, limit, whole })).toEqual({ ok: true, amount: ten });
	expect(await ledger.reserve({ id: 'h', amount: ten, limit, whole })).toMatchObject({
		ok: false,
		state: { left: { tokens: 0 } },
	});
	await ledger.settle(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id) => ({ id, amount: { tokens: 8, usd: 0 } })));
	expect(await ledger.reserve({ id: 'h', amount: ten, limit, whole })).toEqual({ ok: true, amount: ten });
	expect(await ledger.reserve({ id: 'i', amount: ten, limit, whole: { tokens: 12, usd: 0.2 } })).toEqual({
		ok: true,
		amount: { tokens: 12, usd: 0.2 },
	});
});

describe('a lease beyond half of the remaining daily budget', () => {
	const limit = { tokens: 100_000 };
	/** A request for a reply of at most 16,384 tokens and 1,000 tokens of input. */
	const ask = (id: string, more: Partial<LeaseRequest> = {}): LeaseRequest => ({
		...{ id, amount: { tokens: 17_384, usd: 0 }, limit },
		reply: { agent: 'a', model: 'm', input: { tokens: 1_000, usd: 0 }, perToken: { tokens: 1, usd: 0 } },
		...more,
	});
	const reserve = async (ledger: LedgerApi, request: LeaseRequest) => {
		const answer = await ledger.reserve(request);
		return answer.ok ? answer.amount.tokens : answer.scope;
	};
	const came = (id: string, longestReply: number, agent = 'a') => {
		const amount = { tokens: 1_000 + longestReply, usd: 0 };
		const part = { ...amount, model: 'm', unpricedTokens: 0, inputTokens: 1_000, cachedInputTokens: 0, longestReply };
		return { id, amount, agent, parts: [part] };
	};
	const fill = async () => {
		const ledger = newLedger();
		await ledger.reserve({ id: 'others', amount: { tokens: 45_000, usd: 0 }, limit });
		return ledger;
	};

	test('covers a reply of the length of the agent’s recent replies', async () => {
		const ledger = await fill();
		expect(await reserve(ledger, ask('first'))).toBe(1_000 + 2_048);
		await ledger.settle([came('first', 400)]);
		expect(await reserve(ledger, ask('second'))).toBe(1_000 + 500);
		// A longer reply counts at once, and shorter replies count gradually.
		await ledger.settle([came('second', 4_000)]);
		expect(await reserve(ledger, ask('third'))).toBe(1_000 + 5_000);
		await ledger.settle([came('third', 800)]);
		expect(await reserve(ledger, ask('fourth'))).toBe(1_000 + 4_875);
		const other = { agent: 'b', model: 'm', input: nothing, perToken: { tokens: 1, usd: 0 } };
		expect(await reserve(ledger, ask('of another agent', { reply: other }))).toBe(2_048);
	});

	test('covers the whole request if the request does not describe its reply', async () => {
		expect(await reserve(await fill(), ask('whole', { reply: undefined }))).toBe(17_384);
	});

	test('covers the whole request while nothing else is reserved', async () => {
		const ledger = newLedger();
		await ledger.settle([{ id: 'a', amount: { tokens: 80_000, usd: 0 } }]);
		expect(await reserve(ledger, ask('alone'))).toBe(17_384);
	});

	test('covers the reply in dollars, too', async () => {
		const ledger = newLedger();
		const day = { usd: 10 };
		await ledger.reserve({ id: 'others', amount: { tokens: 1, usd: 6 }, limit: day });
		const reply = { agent: 'a', model: 'm', input: { tokens: 100, usd: 0.5 }, perToken: { tokens: 1, usd: 0.001 } };
		const asked = { id: 'a', amount: { tokens: 5_100, usd: 5.5 }, limit: day, reply };
		expect(await ledger.reserve(asked)).toEqual({ ok: true, amount: { tokens: 2_148, usd: 2.548 } });
	});
});

test.each([
	['granted', { tokens: 100 }, true],
	['refused', { tokens: 15 }, false],
])('a lease request that is %s settles the costs that it contains', async (_, limit, ok) => {
	const ledger = newLedger();
	await ledger.reserve({ id: 'a', amount: ten, limit: { tokens: 100 } });
	const owed = [{ id: 'a', amount: { tokens: 8, usd: 0 } }];
	expect(await ledger.reserve({ id: 'b', amount: ten, limit, owed })).toMatchObject({ ok });
	expect(await ledger.state({})).toMatchObject({ spent: { tokens: 8 }, reserved: ok ? ten : nothing });
	await ledger.reserve({ id: 'b', amount: ten, limit, owed });
	expect((await ledger.state({})).spent.tokens).toBe(8);
});

test('a repeated request gets the same lease, and reserves nothing after the lease was settled', async () => {
	const ledger = newLedger();
	const whole = { tokens: 50, usd: 1 };
	for (const _ of ['first', 'again'])
		expect(await ledger.reserve({ id: 'a', amount: ten, limit: {}, whole })).toEqual({ ok: true, amount: whole });
	await ledger.settle([{ id: 'a', amount: nothing }]);
	expect(await ledger.reserve({ id: 'a', amount: ten, limit: {}, whole })).toEqual({ ok: true, amount: ten });
	expect(await ledger.state({})).toMatchObject({ spent: nothing, reserved: nothing });
});

test('a lease writes two rows, or four rows if many leases are open, and reads a constant number of rows', async () => {
	await runInDurableObject(newLedger(), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		const store = new LedgerStore(counting);
		const readCost = (id: string) => {
			rows();
			store.reserve(2, { id, amount: ten, limit: {} });
			store.settle(2, [{ id, amount: ten }]);
			return rows();
		};
		for (let n = 0; n < 3; n++) store.reserve(1 + (n % 2), { id: `few ${n}`, amount: ten, limit: {} });
		expect(readCost('one').written).toBe(2);
		expect(readCost('two').written).toBe(2);
		for (let n = 0; n < 300; n++) store.reserve(1 + (n % 2), { id: `many ${n}`, amount: ten, limit: {} });
		const cost = readCost('three');
		expect(cost.written).toBe(4);
		for (let n = 0; n < 300; n++) store.reserve(1 + (n % 2), { id: `more ${n}`, amount: ten, limit: {} });
		expect(readCost('four')).toEqual(cost);
	});
});

/** Random changes of a ledger, with repeated ids and passing days. */
const happening = fc.oneof(
	fc.record({
		kind: fc.constantFrom('reserve', 'settle'),
		id: fc.nat(49).map(String),
		tokens: fc.nat(12),
		usd: fc.double({ min: 0, max: 0.12, noNaN: true }),
		/** The whole lease minus the needed lease. */
		times: fc.integer({ min: 1, max: 4 }),
	}),
	fc.constantFrom({ kind: 'restart' }, { kind: 'midnight' }),
);

/** Dollars as integers, so that the model’s sums are exact. */
const exact = (usd: number): bigint => BigInt(Math.round(usd * 1e12));

interface ModelCall {
	readonly day: number;
	readonly tokens: number;
	readonly usd: bigint;
	readonly settled: boolean;
}

function sums(known: ReadonlyMap<string, ModelCall>, day: number) {
	const sum = (settled: boolean) => {
		const found = [...known.values()].filter((call) => call.day === day && call.settled === settled);
		return {
			tokens: found.reduce((total, { tokens }) => total + tokens, 0),
			usd: found.reduce((total, { usd }) => total + usd, 0n),
		};
	};
	return { spent: sum(true), reserved: sum(false) };
}

test('in random orders with restarts and midnights, no reservation exceeds the limit and each lease counts once', async () => {
	const limit = { tokens: 200, usd: 2 };
	await runInDurableObject(newLedger(), (_, { storage }) => {
		fc.assert(
			fc.property(fc.array(happening, { maxLength: 150, size: 'max' }), (happenings) => {
				storage.sql.exec('DELETE FROM call; DELETE FROM day;');
				let store = new LedgerStore(storage);
				let today = 20_000;
				const known = new Map<string, ModelCall>();
				for (const what of happenings) {
					if (!('id' in what)) {
						if (what.kind === 'restart') store = new LedgerStore(storage);
						else today++;
						for (const [id, { day }] of known) if (day < today - 2) known.delete(id);
						continue;
					}
					const { id, tokens, times } = what;
					const usd = exact(what.usd);
					const before = known.get(id);
					if (what.kind === 'settle') {
						store.settle(today, [{ id, amount: what }]);
						if (before?.settled !== true) known.set(id, { day: before?.day ?? today, tokens, usd, settled: true });
					} else {
						const whole = { tokens: times * tokens, usd: times * what.usd };
						const answer = store.reserve(today, { id, amount: what, whole, limit });
						const { spent, reserved } = sums(known, today);
						const fits =
							spent.tokens + reserved.tokens + tokens <= limit.tokens &&
							spent.usd + reserved.usd + usd <= exact(limit.usd);
						expect(answer.ok).toBe(before !== undefined || fits);
						if (!answer.ok || before?.settled) continue;
						const got = { tokens: answer.amount?.tokens ?? -1, usd: exact(answer.amount?.usd ?? -1) };
						if (before !== undefined) {
							expect(got).toEqual({ tokens: before.tokens, usd: before.usd });
							continue;
						}
						known.set(id, { day: today, ...got, settled: false });
						// Halving may lose a unit of dollars.
						const isPlenty = (units: bigint) =>
							2 * (reserved.tokens + whole.tokens) <= limit.tokens - spent.tokens &&
							2n * (reserved.usd + exact(whole.usd)) <= exact(limit.usd) - spent.usd + units;
						if (isPlenty(-4n)) expect(got).toEqual({ tokens: whole.tokens, usd: exact(whole.usd) });
						if (!isPlenty(4n)) expect(got).toEqual({ tokens, usd });
					}
					for (const day of new Set([today, today - 1, today - 2])) {
						const { spent, reserved } = store.state(day, limit);
						expect([
							{ tokens: spent.tokens, usd: exact(spent.usd) },
							{ tokens: reserved.tokens, usd: exact(reserved.usd) },
						]).toEqual([sums(known, day).spent, sums(known, day).reserved]);
					}
				}
			}),
			{ numRuns: 300 },
		);
	});
});
