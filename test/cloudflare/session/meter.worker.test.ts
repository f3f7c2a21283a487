import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import { budgetState } from '../../../src/cloudflare/objects/budget.ts';
import type { LedgerApi } from '../../../src/cloudflare/objects/ledger/api.ts';
import {
	chargeLost,
	createSessionMeter,
	readBudgetState,
	type SessionMeter,
} from '../../../src/cloudflare/session/run/meter.ts';
import { draftMs } from '../../../src/cloudflare/session/store/runs.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';

const nothing = { tokens: 0, usd: 0 };
const request = { model: 'm', inputTokens: 100, maxOutputTokens: 50 };
const record = { n: 1, id: 'run_1' };
const said = { role: 'assistant', content: 'done' } as const;

/** An owner's ledger that answers as it is told, and writes down what it is asked. */
function readLedger(reserve: LedgerApi['reserve'], settle: LedgerApi['settle'] = async () => {}) {
	const asked: unknown[] = [];
	const ledger: LedgerApi = {
		reserve: (id, amount, limit) => {
			asked.push({ reserve: amount.tokens });
			return reserve(id, amount, limit);
		},
		settle: (costs) => {
			for (const { amount } of costs) asked.push({ settle: amount.tokens });
			return settle(costs);
		},
		state: async (limit) => budgetState(limit, nothing, nothing),
		days: async () => [],
	};
	const stubs: LedgerApi[] = [];
	const owner = {
		limit: { tokens: 1_000 },
		settleUp: async () => {},
		ledger: () => {
			stubs.push(ledger);
			return ledger;
		},
	};
	return { asked, stubs, owner };
}

/** A meter over the tables of an object of its own. */
async function withMeter(
	about: Partial<Parameters<typeof createSessionMeter>[0]>,
	work: (meter: SessionMeter, store: SessionStore) => Promise<void>,
): Promise<void> {
	await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
		const store = new SessionStore(storage);
		store.create({ id: 's', agent: 'scripted', owner: 'local', createdAt: 1 });
		const options = { store, sessionId: 's', record, limit: () => ({}), computePrice: () => 0, atCrashPoint: () => {} };
		await work(createSessionMeter({ ...options, ...about }), store);
	});
}

describe('the owner of a session, whose day has a limit', () => {
	test('has each request set aside before it and settled after it', async () => {
		const { owner, asked } = readLedger(async () => ({ ok: true }));
		await withMeter({ owner }, async (meter, store) => {
			expect(await meter.reserve(request)).toBe(50);
			meter.settle({ inputTokens: 90, outputTokens: 10 }, said);
			await meter.reserve(request);
			expect(asked).toEqual([{ reserve: 150 }, { reserve: 150 }]);
			const owed = store.outbox.listDue(Infinity).map(({ message }) => message);
			expect(owed).toContainEqual({ to: 'ledger', owner: 'local', call: '.1', amount: { tokens: 100, usd: 0 } });
		});
	});

	test('has a reply that the agent does not bound made shorter, where less than that is left of the day', async () => {
		const left = budgetState({ tokens: 1_000 }, { tokens: 700, usd: 0 }, nothing);
		const { owner, asked } = readLedger(async (_, { tokens }) =>
			tokens > 300 ? { ok: false, state: left } : { ok: true },
		);
		await withMeter({ owner }, async (meter, store) => {
			expect(await meter.reserve({ ...request, maxOutputTokens: undefined })).toBe(200);
			expect(asked).toContainEqual({ reserve: 300 });
			expect(readBudgetState(store, {}).reserved.tokens).toBe(300);
		});
	});

	test('refuses what does not fit, and nothing stays set aside', async () => {
		const full = budgetState({ tokens: 1_000 }, { tokens: 990, usd: 0 }, nothing);
		const { owner } = readLedger(async () => ({ ok: false, state: full }));
		await withMeter({ owner }, async (meter, store) => {
			await expect(meter.reserve(request)).rejects.toMatchObject({ code: 'budget_exceeded', data: { scope: 'day' } });
			expect(readBudgetState(store, {})).toMatchObject({ spent: nothing, reserved: nothing });
		});
	});

	test('that cannot be reached refuses: no model is asked, and nothing stays set aside', async () => {
		const { owner } = readLedger(async () => {
			throw new Error('gone');
		});
		await withMeter({ owner }, async (meter, store) => {
			await expect(meter.reserve(request)).rejects.toMatchObject({ code: 'overloaded' });
			expect(readBudgetState(store, {})).toMatchObject({ spent: nothing, reserved: nothing });
		});
	});

	test.each([
		['failed on its way is made again, on a new stub', { retryable: true }, 2],
		['met an overloaded ledger is not', { retryable: true, overloaded: true }, 1],
	])('a call that %s', async (_, about, stubs) => {
		let failed = false;
		const one = readLedger(async () => {
			if (failed) return { ok: true };
			failed = true;
			throw Object.assign(new Error('no'), about);
		});
		await withMeter({ owner: one.owner }, async (meter) => {
			await Promise.resolve(meter.reserve(request)).catch(() => {});
			expect(one.stubs).toHaveLength(stubs);
		});
	});
});

test('a request that cost more than was set aside costs what it cost', async () => {
	await withMeter({}, async (meter, store) => {
		await meter.reserve(request);
		meter.settle({ inputTokens: 5_000, outputTokens: 1 }, said);
		expect(readBudgetState(store, { tokens: 100 })).toMatchObject({ spent: { tokens: 5_001 }, left: { tokens: 0 } });
	});
});

describe('one call', () => {
	test.each([
		['that nobody bounds', undefined],
		['of a client that wants a million tokens', 1_000_000],
	])('%s never sets a whole day aside', async (_, maxOutputTokens) => {
		const { owner, asked } = readLedger(async () => ({ ok: true }));
		const day = { ...owner, limit: { tokens: 20_000 } };
		await withMeter({ owner: day }, async (meter) => {
			expect(await meter.reserve({ ...request, maxOutputTokens })).toBe(5_000);
			expect(asked).toEqual([{ reserve: 5_100 }]);
		});
	});

	test('sets no more aside than its model can give', async () => {
		const limit = () => ({ tokens: 1_000_000 });
		await withMeter({ limit, contextWindow: () => 4_096 }, async (meter, store) => {
			expect(await meter.reserve({ ...request, maxOutputTokens: 500_000 })).toBe(3_996);
			expect(readBudgetState(store, {}).reserved.tokens).toBe(4_096);
		});
	});
});

describe('a call that was cut off', () => {
	/** What it is charged, with a budget and without one. */
	const charges = async (work: (meter: SessionMeter, store: SessionStore) => void | Promise<void>) => {
		const spent: number[] = [];
		for (const tokens of [undefined, 1_000_000]) {
			await withMeter({ limit: () => ({ tokens }) }, async (meter, store) => {
				await meter.reserve({ model: 'm', inputTokens: 1_000, maxOutputTokens: undefined });
				await work(meter, store);
				const { spent: after, reserved } = readBudgetState(store, {});
				expect(reserved.tokens).toBe(0);
				spent.push(after.tokens);
			});
		}
		return spent;
	};

	test('is charged its input, what was streamed and what was on its way, the same without a budget', async () => {
		expect(await charges((meter) => meter.lost(undefined, true, 200))).toEqual([1_288, 1_288]);
	});

	test.each([20, 75, 150])(
		'by a stop at any moment costs no more than is charged, at %i tokens a second that take a quarter of one to arrive',
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

	test('is charged what its provider had said, where that covers what was streamed', async () => {
		expect(await charges((meter) => meter.lost({ inputTokens: 800, outputTokens: 210 }, true, 200))).toEqual([
			1_010, 1_010,
		]);
		expect(await charges((meter) => meter.lost({ inputTokens: 800, outputTokens: 1 }, true, 200))).toEqual([
			1_058, 1_058,
		]);
	});

	test('whose provider says zero was not free', async () => {
		const zero = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costUsd: 0 };
		expect(await charges((meter) => meter.lost(zero, true, 200))).toEqual([1_288, 1_288]);
		const message = { role: 'assistant', content: 'word '.repeat(160) } as const;
		expect(await charges((meter) => meter.settle(zero, message))).toEqual([1_236, 1_236]);
	});

	test('by a crash is charged what its draft holds, and all that it may lack', async () => {
		const events = [{ type: 'text', text: 'some text' }] as const;
		const draft = { iteration: 1, restarts: 0, events, tokens: 200, ms: 1_000 };
		expect(await charges(({ call }, store) => void chargeLost(store, { ...draft, call }))).toEqual([1_442, 1_442]);
		// The draft of another call says nothing of this one.
		expect(await charges((_, store) => void chargeLost(store, { ...draft, call: 99 }))).toEqual([1_185, 1_185]);
	});

	test.each([20, 75, 150])(
		'by a crash at any moment costs no more than is charged, at %i tokens a second',
		async (pace) => {
			for (let diedAt = 50; diedAt < 4_000; diedAt += 450) {
				const ms = Math.floor(diedAt / draftMs) * draftMs;
				const tokens = (pace * ms) / 1_000;
				const billed = 1_000 + (pace * diedAt) / 1_000;
				const [spent = 0] = await charges(({ call }, store) => {
					chargeLost(store, { iteration: 1, restarts: 0, events: [], ...(ms > 0 && { call, tokens, ms }) });
				});
				expect(spent).toBeGreaterThanOrEqual(billed);
				expect(spent).toBeLessThan(billed * 1.25);
			}
		},
	);

	test('costs dollars by the price of its input and of what was streamed', async () => {
		const computePrice = (_: string, usage: { inputTokens?: number; outputTokens?: number }) =>
			(3 * (usage.inputTokens ?? 0) + 15 * (usage.outputTokens ?? 0)) / 1e6;
		await withMeter({ computePrice }, async (meter, store) => {
			await meter.reserve({ model: 'm', inputTokens: 1_000, maxOutputTokens: undefined });
			meter.lost({ inputTokens: 1_000 }, true, 200);
			expect(readBudgetState(store, {}).spent.usd).toBeCloseTo(0.003 + (15 * 258) / 1e6, 9);
		});
	});
});
