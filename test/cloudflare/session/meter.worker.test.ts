import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { type Amount, budgetState, everything, type Limit } from '../../../src/cloudflare/objects/budget.ts';
import type { LeaseRequest, LedgerApi, UserCaps, UserState } from '../../../src/cloudflare/objects/ledger/api.ts';
import { readBudgetState } from '../../../src/cloudflare/session/run/budgets.ts';
import { Owner } from '../../../src/cloudflare/session/run/lease.ts';
import { closeAccount, createSessionMeter, type SessionMeter } from '../../../src/cloudflare/session/run/meter.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import type { MeteredRequest } from '../../../src/core/chat/index.ts';

const nothing = { tokens: 0, usd: 0 };
/** Creates a request. Call this function within an object, which then owns the signal. */
const ask = (more: Partial<MeteredRequest> = {}): MeteredRequest => ({
	model: 'm',
	inputTokens: 100,
	maxOutputTokens: 50,
	signal: new AbortController().signal,
	...more,
});
const record = { n: 1, id: 'run_1' };
const said = { role: 'assistant', content: 'done' } as const;
/** A reply that calls a tool, so that the run continues. */
const calling = { ...said, toolCalls: [{ id: 'a', name: 'echo', input: {} }] };

/** The state of a user with caps, spending and reservations. */
function toUserState(caps: UserCaps, spent: Amount = nothing, reserved: Amount = nothing): UserState {
	const { daily = {}, total = {} } = caps;
	return { caps, daily: budgetState(daily, spent, reserved), total: budgetState(total, spent, reserved) };
}

/** An owner's ledger that records its requests. */
function createLedger(reserve: LedgerApi['reserve'] = grant, more: Partial<LedgerApi> = {}) {
	const asked: unknown[] = [];
	const ledger: LedgerApi = {
		reserve: (request) => {
			asked.push({ reserve: request.amount.tokens, id: request.id });
			return reserve(request);
		},
		settle: async () => {},
		state: async (limit) => budgetState(limit, nothing, nothing),
		days: async () => [],
		userState: async () => toUserState({}),
		setUserCaps: async () => {},
		userDays: async () => [],
		share: () => Promise.reject(new Error('this ledger has no shards')),
		findOpening: async () => undefined,
		parts: async () => [],
		eraseUser: async () => {},
		...more,
	};
	const stubs: LedgerApi[] = [];
	const owner = {
		findLimit: async (): Promise<Limit> => ({ tokens: 10_000 }),
		tellWith: <T>(call: (owed: []) => Promise<T>) => call([]),
		ledger: () => {
			stubs.push(ledger);
			return ledger;
		},
	};
	return { asked, stubs, owner };
}

/** Grants for a ledger with much left, and for a ledger with just enough. */
const grant: LedgerApi['reserve'] = async ({ amount, whole }) => ({ ok: true, amount: whole ?? amount });
const grantLeast: LedgerApi['reserve'] = async ({ amount }) => ({ ok: true, amount });

/** A meter that stores its messages. */
type StoringMeter = Omit<SessionMeter, 'settle'> & {
	readonly settle: (...said: Parameters<SessionMeter['settle']>) => void;
};

function storeMessages(meter: SessionMeter, store: SessionStore, run = 1): StoringMeter {
	return {
		...meter,
		get call() {
			return meter.call;
		},
		get isShort() {
			return meter.isShort;
		},
		settle: (...told) => void store.messages.add(run, told[1], 1, { cost: meter.settle(...told) }),
	};
}

const toOptions = (store: SessionStore) => {
	const free = { limit: () => ({}), computePrice: () => 0, atCrashPoint: () => {} };
	return { store, agent: 'scripted', record, ...free };
};

/** A meter over the tables of a new object with its first run. */
async function withMeter(
	about: Partial<Parameters<typeof createSessionMeter>[0]>,
	work: (meter: StoringMeter, store: SessionStore, storage: DurableObjectStorage) => Promise<void>,
): Promise<void> {
	await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
		const store = new SessionStore(storage);
		store.create({ id: 's', agent: 'scripted', owner: 'local', createdAt: 1 });
		store.runs.begin({ ...record, boot: 'one', firstSeq: 1, createdAt: 1 });
		await work(storeMessages(createSessionMeter({ ...toOptions(store), ...about }), store), store, storage);
	});
}

/** The reports that the ledger did not get. */
const listOwed = (store: SessionStore) =>
	store
		.listDue(Number.POSITIVE_INFINITY)
		.flatMap(({ message }) => (message.to === 'ledger' ? [[message.call, message.amount.tokens]] : []));

/** Lets timers run for this time. */
async function waitLong<T>(work: T | PromiseLike<T>, ms = 60_000) {
	const end = Promise.allSettled([work]);
	await vi.advanceTimersByTimeAsync(ms);
	return (await end)[0];
}

const useFakeTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });

afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

test('an embedding request does not count as an unanswered turn', () =>
	withMeter({}, async (meter, store) => {
		await meter.reserve(ask());
		expect(store.spending.isUnanswered(1)).toBe(true);
		meter.settle({ inputTokens: 90, outputTokens: 10 }, calling);
		expect(store.spending.isUnanswered(1)).toBe(false);
		await meter.reserve({ ...ask(), isEmbedding: true });
		expect(store.spending.isUnanswered(1)).toBe(false);
		meter.lost({ inputTokens: 7, outputTokens: 0 }, false, 0);
		expect(store.spending.isUnanswered(1)).toBe(false);
		expect(store.spending.total().tokens).toBe(107);
	}));

describe('the lease of a run', () => {
	test('is reserved once for many requests, and reported once with their total cost', async () => {
		const { owner, asked } = createLedger();
		await withMeter({ owner }, async (meter, store) => {
			for (let n = 0; n < 5; n++) {
				expect(await meter.reserve(ask())).toBe(50);
				meter.settle({ inputTokens: 90, outputTokens: 10 }, calling);
			}
			meter.lost(undefined, false, 0);
			expect(listOwed(store)).toEqual([]);
			await meter.reserve(ask());
			meter.settle({ inputTokens: 90, outputTokens: 11 }, said);
			expect(asked).toEqual([{ reserve: 150, id: 'run_1.1' }]);
			store.spending.endLease();
			expect(listOwed(store)).toEqual([['run_1.1', 601]]);
		});
	});

	test('is kept for the next run, and reported once under the id of the first run', async () => {
		const { owner, asked } = createLedger();
		await withMeter({ owner }, async (first, store, storage) => {
			await first.reserve(ask());
			first.settle({ inputTokens: 90, outputTokens: 10 }, said);
			closeAccount(store, undefined);
			expect(listOwed(store)).toEqual([]);
			const next = { n: 2, id: 'run_2' };
			store.runs.begin({ ...next, boot: 'one', firstSeq: 2, createdAt: 2 });
			const second = storeMessages(createSessionMeter({ ...toOptions(store), record: next, owner }), store, 2);
			await second.reserve(ask());
			second.settle({ inputTokens: 90, outputTokens: 11 }, said);
			closeAccount(store, undefined);
			expect(asked).toHaveLength(1);
			expect(listOwed(store)).toEqual([]);
			// No lease continues in the next instance of the object.
			const later = new SessionStore(storage);
			later.reports.lookBack();
			expect(listOwed(later)).toEqual([['run_1.1', 201]]);
			store.spending.endLease();
			expect(listOwed(store)).toEqual([['run_1.1', 201]]);
		});
	});

	test('is never exceeded, even over several runs', async () => {
		const { owner, asked } = createLedger(async ({ amount }) => ({
			ok: true,
			amount: { ...amount, tokens: amount.tokens + 1 },
		}));
		await withMeter({ owner }, async (meter, store) => {
			await meter.reserve(ask());
			closeAccount(store, undefined);
			// 150 of 151 were charged for the interrupted request.
			await meter.reserve(ask({ inputTokens: 1, maxOutputTokens: 0 }));
			expect(asked).toHaveLength(1);
			await meter.reserve(ask({ inputTokens: 1, maxOutputTokens: 0 }));
			meter.settle({ inputTokens: 1, outputTokens: 0 }, said);
			await meter.reserve(ask({ inputTokens: 1, maxOutputTokens: 0 }));
			expect(asked).toHaveLength(2);
		});
	});

	test('is replaced for a request that exceeds it', async () => {
		const { owner, asked } = createLedger(grantLeast);
		await withMeter({ owner }, async (meter, store) => {
			await meter.reserve(ask());
			meter.settle({ inputTokens: 20, outputTokens: 10 }, calling);
			// 120 are left of 150.
			await meter.reserve(ask({ maxOutputTokens: 20 }));
			meter.settle({ inputTokens: 20, outputTokens: 1 }, calling);
			await meter.reserve(ask());
			expect(asked).toEqual([
				{ reserve: 150, id: 'run_1.1' },
				{ reserve: 150, id: 'run_1.3' },
			]);
			expect(listOwed(store)).toEqual([['run_1.1', 51]]);
		});
	});

	test('reserves enough tokens and dollars for eight further requests', async () => {
		const computePrice = (_: string, usage: { inputTokens?: number; outputTokens?: number }) =>
			((usage.inputTokens ?? 0) + 2 * (usage.outputTokens ?? 0)) / 1e3;
		let wanted: unknown;
		const { owner } = createLedger(async ({ amount, whole }) => {
			wanted = whole;
			return { ok: true, amount };
		});
		await withMeter(
			{ owner: { ...owner, findLimit: async () => ({ tokens: 1e6, usd: 1e3 }) }, computePrice },
			async (meter) => {
				await meter.reserve(ask({ maxOutputTokens: 5_000 }));
				expect(wanted).toEqual({ tokens: 5_100 + 8 * 1_100, usd: 10.1 + 8 * 2.1 });
			},
		);
	});

	test.each([
		['a minute', '2026-03-01T12:00:00Z', 60_000],
		['the day', '2026-03-01T23:59:59.500Z', 500],
	])('ends after %s, and the next request reserves another lease', async (_, moment, ms) => {
		useFakeTime().setSystemTime(moment);
		const { owner, asked } = createLedger();
		await withMeter({ owner }, async (meter, store) => {
			await meter.reserve(ask());
			meter.settle({ inputTokens: 90, outputTokens: 10 }, calling);
			vi.setSystemTime(Date.now() + ms - 1);
			await meter.reserve(ask());
			meter.settle({ inputTokens: 90, outputTokens: 10 }, calling);
			expect(asked).toHaveLength(1);
			vi.setSystemTime(Date.now() + 1);
			await meter.reserve(ask());
			expect(asked).toHaveLength(2);
			expect(listOwed(store)).toEqual([['run_1.1', 200]]);
		});
	});

	test('ends with its run if the ledger granted only the least amount, and its rest is given back once', async () => {
		const { owner } = createLedger(grantLeast);
		await withMeter({ owner }, async (meter, store) => {
			await meter.reserve(ask());
			meter.settle({ inputTokens: 90, outputTokens: 10 }, calling);
			closeAccount(store, undefined);
			expect(listOwed(store)).toEqual([['run_1.1', 100]]);
			store.markReported(store.listDue(Number.POSITIVE_INFINITY));
			closeAccount(store, undefined);
			expect(listOwed(store)).toEqual([]);
		});
	});

	test('is charged for a request that a crash interrupted, and its rest is given back', async () => {
		const { owner } = createLedger();
		await withMeter({ owner }, async (meter, store, storage) => {
			await meter.reserve(ask());
			expect(listOwed(store)).toEqual([]);
			const next = new SessionStore(storage);
			closeAccount(next, undefined);
			expect(readBudgetState(next, {}).reserved).toEqual(nothing);
			expect(listOwed(next)).toEqual([['run_1.1', readBudgetState(next, {}).spent.tokens]]);
		});
	});

	test('is not requested if there is no daily limit, and the cost of the run is reported once', async () => {
		const { owner, asked } = createLedger();
		await withMeter({ owner: { ...owner, findLimit: async () => ({}) } }, async (meter, store) => {
			for (const message of [calling, calling, said]) {
				await meter.reserve(ask());
				meter.settle({ inputTokens: 90, outputTokens: 10 }, message);
			}
			expect(asked).toEqual([]);
			closeAccount(store, undefined);
			expect(listOwed(store)).toEqual([['run_1.1', 300]]);
		});
	});
});

describe('a ledger', () => {
	test('caps an unlimited reply at the rest of the budget', async () => {
		const left = budgetState({ tokens: 1_000 }, { tokens: 700, usd: 0 }, nothing);
		const { owner, asked } = createLedger(async ({ amount }) =>
			amount.tokens > 300 ? { ok: false, scope: 'day', state: left } : { ok: true, amount },
		);
		await withMeter({ owner: { ...owner, findLimit: async () => ({ tokens: 1_000 }) } }, async (meter, store) => {
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(200);
			expect(asked).toContainEqual({ reserve: 300, id: 'run_1.2' });
			expect(readBudgetState(store, {}).reserved.tokens).toBe(300);
		});
	});

	test('refuses a request that does not fit, and nothing stays reserved', async () => {
		const full = budgetState({ tokens: 1_000 }, { tokens: 990, usd: 0 }, nothing);
		const { owner, asked } = createLedger(async () => ({ ok: false, scope: 'day', state: full }));
		await withMeter({ owner: { ...owner, findLimit: async () => ({ tokens: 1_000 }) } }, async (meter, store) => {
			await expect(meter.reserve(ask())).rejects.toMatchObject({ code: 'budget_exceeded', data: { scope: 'day' } });
			expect(readBudgetState(store, {})).toMatchObject({ spent: nothing, reserved: nothing });
			expect(listOwed(store)).toEqual([['run_1.1', 0]]);
			expect(asked).toHaveLength(1);
		});
	});

	test('is asked repeatedly until other sessions give back their reservations', async () => {
		useFakeTime();
		let reserved = { tokens: 900, usd: 0 };
		const limit = { tokens: 1_000 };
		const day = () => budgetState(limit, nothing, reserved);
		const { owner, asked } = createLedger(async ({ amount }) => {
			if (reserved.tokens <= 850) return { ok: true, amount };
			reserved = { tokens: reserved.tokens - 20, usd: 0 };
			return { ok: false, scope: 'day', state: day() };
		});
		await withMeter({ owner: { ...owner, findLimit: async () => limit } }, async (meter, store) => {
			expect(await waitLong(meter.reserve(ask()))).toEqual({ status: 'fulfilled', value: 50 });
			// A shorter reply was tried once, and then the same reply again and again.
			expect(asked.slice(1)).toEqual([1, 2, 3].map(() => ({ reserve: 150, id: 'run_1.2' })));
			expect(listOwed(store)).toEqual([['run_1.1', 0]]);
		});
	});

	test('refuses with budget_reserved if other sessions hold their reservations for a minute', async () => {
		useFakeTime();
		const limit = { tokens: 1_000 };
		const state = budgetState(limit, nothing, { tokens: 999, usd: 0 });
		const { owner } = createLedger(async () => ({ ok: false, scope: 'day', state }));
		await withMeter({ owner: { ...owner, findLimit: async () => limit } }, async (meter, store) => {
			const { reason } = Object(await waitLong(meter.reserve(ask()), 60_000));
			expect(reason).toMatchObject({
				code: 'budget_reserved',
				message: expect.stringContaining('Other runs have reserved 999 tokens'),
				data: { scope: 'day', retryAfter: 60 },
			});
			expect(readBudgetState(store, {}).reserved).toEqual(nothing);
		});
	});

	test('shortens a reply to the free budget, and reports that a longer reply may be possible later', async () => {
		let grants: (request: LeaseRequest) => Amount = ({ reply }) => ({
			tokens: (reply?.input.tokens ?? 0) + 70,
			usd: 0,
		});
		const { owner } = createLedger(async (request) => ({ ok: true, amount: grants(request) }));
		await withMeter({ owner: { ...owner, findLimit: async () => ({ tokens: 1e6 }) } }, async (meter, store) => {
			expect(await meter.reserve(ask({ maxOutputTokens: 500 }))).toBe(70);
			expect(meter.isShort).toBe(true);
			expect(readBudgetState(store, {}).reserved.tokens).toBe(170);
			meter.lost({ inputTokens: 100, outputTokens: 70 }, false, 70);
			grants = ({ amount, reply }) => (reply === undefined ? amount : nothing);
			expect(await meter.reserve(ask({ maxOutputTokens: 500, isWhole: true }))).toBe(500);
			expect(meter.isShort).toBe(false);
			expect(readBudgetState(store, {})).toMatchObject({ spent: { tokens: 170 }, reserved: { tokens: 600 } });
		});
	});

	test.each([
		['cannot be reached', {}],
		['is overloaded', { retryable: true, overloaded: true }],
	])('that %s is asked again under the same id until it answers', async (_, mark) => {
		useFakeTime();
		vi.spyOn(console, 'warn').mockImplementation(() => {});
		let failures = 4;
		const { owner, asked } = createLedger(async (...how) => {
			if (failures-- > 0) throw Object.assign(new Error('no'), mark);
			return grant(...how);
		});
		await withMeter({ owner }, async (meter) => {
			expect(await waitLong(meter.reserve(ask()))).toEqual({ status: 'fulfilled', value: 50 });
			expect(asked).toEqual(Array.from({ length: 5 }, () => ({ reserve: 150, id: 'run_1.1' })));
		});
	});

	test('that cannot be reached for 20 s prevents the request, and nothing stays reserved', async () => {
		useFakeTime();
		vi.spyOn(console, 'warn').mockImplementation(() => {});
		const { owner } = createLedger(async () => {
			throw new Error('gone');
		});
		await withMeter({ owner }, async (meter, store) => {
			const { reason } = Object(await waitLong(meter.reserve(ask()), 20_000));
			expect(reason).toMatchObject({ code: 'overloaded' });
			expect(readBudgetState(store, {})).toMatchObject({ spent: nothing, reserved: nothing });
			expect(listOwed(store)).toEqual([['run_1.1', 0]]);
		});
	});

	test('that does not answer does not delay a cancelled run', async () => {
		// The clock is stopped, so timers never end.
		useFakeTime();
		const { promise: isAsked, resolve } = Promise.withResolvers<void>();
		const { owner } = createLedger(() => {
			resolve();
			return new Promise(() => {});
		});
		await withMeter({ owner }, async (meter, store) => {
			const stop = new AbortController();
			const reserving = meter.reserve(ask({ signal: stop.signal }));
			await isAsked;
			stop.abort();
			await expect(reserving).rejects.toMatchObject({ code: 'cancelled' });
			expect(readBudgetState(store, {}).reserved).toEqual(nothing);
			expect(listOwed(store)).toEqual([['run_1.1', 0]]);
		});
	});

	test('is called again at once on a new stub after a failed call', async () => {
		let failed = false;
		const { owner, stubs } = createLedger(async (...how) => {
			if (failed) return grant(...how);
			failed = true;
			throw Object.assign(new Error('no'), { retryable: true });
		});
		await withMeter({ owner }, async (meter) => {
			await meter.reserve(ask());
			expect(stubs).toHaveLength(2);
		});
	});
});

describe('the budgets of a user', () => {
	/** The owner of a ledger with the user and without a limit of the day. */
	const ofUser = ({ owner }: ReturnType<typeof createLedger>, user = 'kim') => ({
		...owner,
		user,
		findLimit: async (): Promise<Limit> => ({}),
	});
	/** A ledger that keeps the caps of its user. Nothing that it grants is settled. */
	const createUserLedger = (caps: UserCaps, spent: Amount = nothing) => {
		const reserved = { tokens: 0, usd: 0 };
		const users: unknown[] = [];
		const passes = (amount: Amount, { tokens = Infinity, usd = Infinity }: Limit = {}) =>
			spent.tokens + reserved.tokens + amount.tokens > tokens || spent.usd + reserved.usd + amount.usd > usd;
		const reserve: LedgerApi['reserve'] = async ({ amount, user }) => {
			users.push(user);
			const { daily, total } = toUserState(structuredClone(caps), spent, { ...reserved });
			if (passes(amount, caps.daily)) return { ok: false, scope: 'user-day', state: daily };
			if (passes(amount, caps.total)) return { ok: false, scope: 'user-total', state: total };
			reserved.tokens += amount.tokens;
			return { ok: true, amount: { tokens: amount.tokens + 1_000, usd: amount.usd + 1 } };
		};
		return { ...createLedger(reserve), users };
	};
	const byPrice = (_: string, { inputTokens = 0, outputTokens = 0 }: { inputTokens?: number; outputTokens?: number }) =>
		(inputTokens + 2 * outputTokens) / 1e3;

	test('are reserved for the session’s user even if there is no daily limit', async () => {
		const ledger = createUserLedger({ daily: { tokens: 1_000 } });
		await withMeter({ owner: ofUser(ledger) }, async (meter) => {
			expect(await meter.reserve(ask())).toBe(50);
			expect(ledger.asked).toEqual([{ reserve: 150, id: 'run_1.1' }]);
			expect(ledger.users).toEqual(['kim']);
		});
	});

	test('without a cap are reserved once in a run, and limit neither replies nor unpriced models', async () => {
		const ledger = createLedger(async () => ({ ok: true, amount: everything }));
		await withMeter({ owner: ofUser(ledger), computePrice: () => undefined }, async (meter, store) => {
			for (const message of [calling, calling, said]) {
				expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBeUndefined();
				meter.settle({ inputTokens: 90, outputTokens: 30_000 }, message);
			}
			expect(ledger.asked).toHaveLength(1);
			closeAccount(store, undefined);
			expect(listOwed(store)).toEqual([['run_1.1', 90_270]]);
		});
	});

	test('limit each reply that has no other limit, during the whole lease', async () => {
		const ledger = createUserLedger({ daily: { tokens: 2_000 } }, { tokens: 500, usd: 0 });
		await withMeter({ owner: ofUser(ledger) }, async (meter) => {
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(1_400);
			expect(ledger.asked).toEqual([
				{ reserve: Infinity, id: 'run_1.1' },
				{ reserve: 1_500, id: 'run_1.2' },
			]);
			meter.settle({ inputTokens: 90, outputTokens: 10 }, calling);
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(1_900);
			expect(ledger.asked).toHaveLength(2);
		});
	});

	test('shorten a reply to what is left of both the daily and the total budget', async () => {
		const caps = { daily: { tokens: 3_000 }, total: { usd: 2.5 } };
		const ledger = createUserLedger(caps, { tokens: 1_000, usd: 0.4 });
		const session = { limit: () => ({ tokens: 1_000_000 }), computePrice: byPrice };
		await withMeter({ owner: ofUser(ledger), ...session }, async (meter) => {
			// (2.5 - 0.4 - 0.1) / 0.002
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(1_000);
			expect(ledger.asked).toEqual([
				{ reserve: 16_484, id: 'run_1.1' },
				{ reserve: 2_000, id: 'run_1.2' },
				{ reserve: 1_100, id: 'run_1.3' },
			]);
		});
	});

	test.each([
		[
			'user-day',
			{ daily: { tokens: 100 } },
			/^budget: The user "kim lee" may spend 100 tokens a day; 60 tokens left, and the next request may need 150 tokens\. An admin raises it by PUT \/v1\/users\/kim%20lee\/budget\. Then continue, or continue tomorrow \(UTC\)\.$/,
		],
		[
			'user-total',
			{ total: { tokens: 100 } },
			/^budget: The user "kim lee" may spend 100 tokens in all; 60 tokens left, .* by PUT \/v1\/users\/kim%20lee\/budget\. Then continue\.$/,
		],
	])(
		'refuse a request: the error has the scope %s, names the user, and says who can raise the budget',
		async (scope, caps, message) => {
			const ledger = createUserLedger(caps, { tokens: 40, usd: 0 });
			await withMeter({ owner: ofUser(ledger, 'kim lee') }, async (meter, store) => {
				await expect(meter.reserve(ask())).rejects.toMatchObject({
					code: 'budget_exceeded',
					message: expect.stringMatching(message),
					data: { scope, left: { tokens: 60 }, needs: { tokens: 150 } },
				});
				expect(readBudgetState(store, {})).toMatchObject({ spent: nothing, reserved: nothing });
				expect(ledger.asked).toHaveLength(1);
			});
		},
	);

	test('in dollars refuse a model without a known price', async () => {
		const ledger = createUserLedger({ total: { usd: 5 } });
		await withMeter({ owner: ofUser(ledger), computePrice: () => undefined }, async (meter, store) => {
			await expect(meter.reserve(ask())).rejects.toMatchObject({
				code: 'budget_exceeded',
				message: expect.stringMatching(/^budget: nobody knows the price of "m"/),
			});
			expect(readBudgetState(store, {}).reserved).toEqual(nothing);
		});
	});

	test.each([
		['user-day', { daily: { tokens: 1_000 } }],
		['user-total', { total: { tokens: 1_000 } }],
	] as const)('let a request wait while other sessions reserve too much of the %s budget', async (scope, caps) => {
		useFakeTime();
		let reserved = { tokens: 900, usd: 0 };
		const read = () => toUserState(caps, nothing, reserved)[scope === 'user-day' ? 'daily' : 'total'];
		const ledger = createLedger(async ({ amount, user }) => {
			expect(user).toBe('kim');
			if (reserved.tokens <= 850) return { ok: true, amount };
			reserved = { tokens: reserved.tokens - 20, usd: 0 };
			return { ok: false, scope, state: read() };
		});
		await withMeter({ owner: ofUser(ledger) }, async (meter) => {
			expect(await waitLong(meter.reserve(ask()))).toEqual({ status: 'fulfilled', value: 50 });
		});
		const refusing = createLedger(async () => {
			reserved = { tokens: 999, usd: 0 };
			return { ok: false, scope, state: read() };
		});
		await withMeter({ owner: ofUser(refusing) }, async (meter) => {
			const { reason } = Object(await waitLong(meter.reserve(ask())));
			expect(reason).toMatchObject({ code: 'budget_reserved', data: { scope } });
		});
	});

	test('allow a longer reply if they were raised since the last lease', async () => {
		useFakeTime();
		const caps = { daily: { tokens: 1_000 } };
		const ledger = createUserLedger(caps);
		await withMeter({ owner: ofUser(ledger) }, async (meter) => {
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(900);
			meter.settle({ inputTokens: 90, outputTokens: 10 }, calling);
			caps.daily.tokens = 100_000;
			vi.setSystemTime(Date.now() + 60_000);
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(16_384);
		});
	});

	test('are counted by the owner’s ledger, from the costs of the user’s sessions', async () => {
		const id = env.LEDGERS.newUniqueId();
		await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (object, { storage }) => {
			const ledger = env.LEDGERS.get(id);
			await ledger.setUserCaps('kim', { daily: { tokens: 1_000 }, total: { tokens: 10_000 } });
			const store = new SessionStore(storage);
			store.create({ id: 's', agent: 'scripted', owner: 'local', user: 'kim', createdAt: 1 });
			store.runs.begin({ ...record, boot: 'one', firstSeq: 1, createdAt: 1 });
			const ledgers = { idFromName: () => id, get: () => ledger };
			const config = { ...readConfig(Reflect.get(object, 'env')), ledgers };
			const owner = new Owner(store, () => config);
			const meter = storeMessages(
				createSessionMeter({ ...toOptions(store), owner: owner.ledger(store.session(), config) }),
				store,
			);
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(900);
			expect(await ledger.userState('kim')).toMatchObject({ daily: { reserved: { tokens: 1_000 } } });
			meter.settle({ inputTokens: 500, outputTokens: 250 }, said);
			closeAccount(store, undefined);
			await owner.outbox.sendTo('ledger');
			const spent = { tokens: 750 };
			expect(await ledger.userState('kim')).toMatchObject({
				daily: { spent, reserved: nothing, left: { tokens: 250 } },
				total: { spent, reserved: nothing, left: { tokens: 9_250 } },
			});
			await expect(meter.reserve(ask({ inputTokens: 300 }))).rejects.toMatchObject({ data: { scope: 'user-day' } });
		});
	});

	test('are charged even for a lease that the ledger did not know, because the report names the user', async () => {
		await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
			const store = new SessionStore(storage);
			store.create({ id: 's', agent: 'scripted', owner: 'local', user: 'kim', createdAt: 1 });
			store.runs.begin({ ...record, boot: 'one', firstSeq: 1, createdAt: 1 });
			const { owner } = createLedger();
			const meter = storeMessages(createSessionMeter({ ...toOptions(store), owner }), store);
			await meter.reserve(ask());
			meter.settle({ inputTokens: 90, outputTokens: 10 }, said);
			const listUsers = () =>
				store
					.listDue(Number.POSITIVE_INFINITY)
					.flatMap(({ message }) => (message.to === 'ledger' ? [message.user] : []));
			store.spending.endLease();
			expect(listUsers()).toEqual(['kim']);
			// The outbox keeps the user when the session is removed.
			store.erase(2);
			expect(listUsers()).toEqual(['kim']);
		});
	});
});

test('charges the full cost of a request that exceeded its reservation', async () => {
	await withMeter({}, async (meter, store) => {
		await meter.reserve(ask());
		meter.settle({ inputTokens: 5_000, outputTokens: 1 }, said);
		expect(readBudgetState(store, { tokens: 100 })).toMatchObject({ spent: { tokens: 5_001 }, left: { tokens: 0 } });
	});
});

describe('a request', () => {
	test.each([
		['without an output limit', undefined],
		['of a client that wants a million tokens', 1_000_000],
	])('%s never reserves the whole budget of the day', async (_, maxOutputTokens) => {
		const { owner, asked } = createLedger();
		const day = { ...owner, findLimit: async () => ({ tokens: 20_000 }) };
		await withMeter({ owner: day }, async (meter) => {
			expect(await meter.reserve(ask({ maxOutputTokens }))).toBe(5_000);
			expect(asked).toEqual([{ reserve: 5_100, id: 'run_1.1' }]);
		});
	});

	test('reserves budget for the reply, and also for a summary if a summary is possible', async () => {
		const computeMost = () => ({ inputTokens: 100, texts: 1, usd: 0 });
		await withMeter({ limit: () => ({ tokens: 500 }), computeMost }, async (meter, store) => {
			expect(await meter.reserve(ask({ maxOutputTokens: undefined }))).toBe(200);
			expect(readBudgetState(store, {}).reserved.tokens).toBe(500);
		});
	});

	test('reserves at most the context window of its model', async () => {
		const limit = () => ({ tokens: 1_000_000 });
		await withMeter({ limit, contextWindow: () => 4_096 }, async (meter, store) => {
			expect(await meter.reserve(ask({ maxOutputTokens: 500_000 }))).toBe(3_996);
			expect(readBudgetState(store, {}).reserved.tokens).toBe(4_096);
		});
	});
});

describe('an interrupted request', () => {
	/** The charges with a budget and without a budget. */
	const charges = async (
		work: (meter: StoringMeter, store: SessionStore) => void | Promise<void>,
		mayThink = false,
	) => {
		const spent: number[] = [];
		for (const tokens of [undefined, 1_000_000]) {
			await withMeter({ limit: () => ({ tokens }), mayThink: () => mayThink }, async (meter, store) => {
				await meter.reserve(ask({ inputTokens: 1_000, maxOutputTokens: undefined }));
				await work(meter, store);
				const { spent: after, reserved } = readBudgetState(store, {});
				expect(reserved.tokens).toBe(0);
				spent.push(after.tokens);
			});
		}
		return spent;
	};

	test('is charged for input, streamed output and output in transit, with and without a budget', async () => {
		expect(await charges((meter) => meter.lost(undefined, true, 200))).toEqual([1_288, 1_288]);
	});

	test.each([20, 75, 150])(
		'is charged its cost or little more, whenever it is stopped, at an output of %i tokens a second',
		async (pace) => {
			vi.useFakeTimers({ toFake: ['Date'] });
			try {
				for (let ms = 200; ms < 4_000; ms += 450) {
					const written = (pace * ms) / 1_000;
					const arrived = (pace * Math.max(0, ms - 250)) / 1_000;
					const [spent = 0] = await charges((meter) => {
						vi.advanceTimersByTime(ms);
						meter.lost(undefined, true, arrived);
					});
					expect(spent).toBeGreaterThanOrEqual(1_000 + written);
					expect(spent).toBeLessThan((1_000 + written) * 1.25);
				}
			} finally {
				vi.useRealTimers();
			}
		},
	);

	test('is charged for hidden thinking while no output arrives, if its model can hide thinking', async () => {
		const hidden = { silentMs: 10_000, hasReadAgain: false };
		const stop = (meter: StoringMeter) => meter.lost({ inputTokens: 800, outputTokens: 1 }, true, 200, hidden);
		expect(await charges(stop, true)).toEqual([800 + 200 + 1_500, 800 + 200 + 1_500]);
		expect(await charges(stop, false)).toEqual([1_058, 1_058]);
	});

	test('is charged for hidden thinking if it ended without reported usage', async () => {
		const message = { role: 'assistant', content: 'word '.repeat(160) } as const;
		expect(await charges((meter) => meter.settle(undefined, message, 1_000), true)).toEqual([1_391, 1_391]);
		expect(await charges((meter) => meter.settle(undefined, message, 1_000), false)).toEqual([1_236, 1_236]);
	});

	test('is charged after a crash for hidden thinking since its start, if its model can hide thinking', async () => {
		vi.useFakeTimers({ toFake: ['Date'] });
		try {
			const crash = (_: StoringMeter, store: SessionStore) => {
				vi.advanceTimersByTime(10_000);
				closeAccount(store, undefined);
			};
			expect(await charges(crash, true)).toEqual([1_030 + 1_500, 1_030 + 1_500]);
			expect(await charges(crash, false)).toEqual([1_154, 1_154]);
		} finally {
			vi.useRealTimers();
		}
	});

	test('is charged for all reserved input if its provider used tools', async () => {
		const hidden = { silentMs: 0, hasReadAgain: true };
		const most = { computeMost: () => ({ inputTokens: 30_000, usd: 0 }) };
		await withMeter(most, async (meter, store) => {
			await meter.reserve(ask({ inputTokens: 1_000 }));
			meter.lost({ inputTokens: 800, outputTokens: 10 }, true, 10, hidden);
			expect(readBudgetState(store, {}).spent.tokens).toBe(30_010);
		});
	});

	test('is charged at most its reservation if no cost was reported', async () => {
		await withMeter({}, async (meter, store) => {
			await meter.reserve(ask({ inputTokens: 1_000, maxOutputTokens: 50 }));
			meter.lost(undefined, true, 50);
			expect(readBudgetState(store, {}).spent.tokens).toBe(1_050);
		});
	});

	test('is charged the reported cost only if this cost covers the streamed output', async () => {
		expect(await charges((meter) => meter.lost({ inputTokens: 800, outputTokens: 210 }, true, 200))).toEqual([
			1_010, 1_010,
		]);
		expect(await charges((meter) => meter.lost({ inputTokens: 800, outputTokens: 1 }, true, 200))).toEqual([
			1_058, 1_058,
		]);
	});

	test('is charged an estimate even if its provider reports zero', async () => {
		const zero = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };
		expect(await charges((meter) => meter.lost(zero, true, 200))).toEqual([1_288, 1_288]);
		const message = { role: 'assistant', content: 'word '.repeat(160) } as const;
		expect(await charges((meter) => meter.settle(zero, message))).toEqual([1_236, 1_236]);
	});

	test('is charged after a crash for its draft and for the output possible before the next draft', async () => {
		const events = [{ type: 'text', text: 'some text' }] as const;
		const draft = { iteration: 1, restarts: 0, events, tokens: 200, ms: 1_000, nextMs: 3_000 };
		expect(await charges(({ call }, store) => void closeAccount(store, { ...draft, call }))).toEqual([1_854, 1_854]);
		// The draft of another request does not count.
		expect(await charges((_, store) => void closeAccount(store, { ...draft, call: 99 }))).toEqual([1_154, 1_154]);
	});

	test.each([20, 75, 150])(
		'is charged at least its cost after any crash, and little more on average, at %i tokens a second',
		async (pace) => {
			const sum = { billed: 0, spent: 0 };
			const drafts = [0, 800, 3_300, 10_500, 17_700, 24_900];
			for (let diedAt = 50; diedAt < 20_000; diedAt += 450) {
				const next = drafts.findIndex((at) => at > diedAt);
				const [ms = 0, nextAt = 0] = drafts.slice(next - 1);
				const tokens = (pace * ms) / 1_000;
				const billed = 1_000 + (pace * diedAt) / 1_000;
				const draft = ms > 0 ? { tokens, ms, nextMs: nextAt - ms } : undefined;
				const [spent = 0] = await charges(({ call }, store) => {
					closeAccount(store, draft && { iteration: 1, restarts: 0, events: [], call, ...draft });
				});
				expect(spent).toBeGreaterThanOrEqual(billed);
				sum.billed += billed;
				sum.spent += spent;
			}
			expect(sum.spent).toBeLessThan(sum.billed * 1.25);
		},
	);

	test('is charged in dollars by the price of its input and of the streamed output', async () => {
		const computePrice = (_: string, usage: { inputTokens?: number; outputTokens?: number }) =>
			(3 * (usage.inputTokens ?? 0) + 15 * (usage.outputTokens ?? 0)) / 1e6;
		await withMeter({ computePrice }, async (meter, store) => {
			await meter.reserve(ask({ inputTokens: 1_000, maxOutputTokens: undefined }));
			meter.lost({ inputTokens: 1_000 }, true, 200);
			expect(readBudgetState(store, {}).spent.usd).toBeCloseTo(0.003 + (15 * 258) / 1e6, 9);
		});
	});
});
