import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import type { LedgerApi } from '../../src/ledger/api.ts';
import { budgetState } from '../../src/ledger/budget.ts';
import { type SessionMeter, sessionMeter, stateOf } from '../../src/session/meter.ts';
import { SessionStore } from '../../src/session/store.ts';

const nothing = { tokens: 0, usd: 0 };
const request = { model: 'm', inputTokens: 100, maxOutputTokens: 50 };
const record = { n: 1, id: 'run_1' };

/** An owner's ledger that answers as it is told, and writes down what it is asked. */
function ledgerOf(reserve: LedgerApi['reserve'], settle: LedgerApi['settle'] = async () => {}) {
	const asked: unknown[] = [];
	const ledger: LedgerApi = {
		reserve: (id, amount, limit) => {
			asked.push({ reserve: amount.tokens });
			return reserve(id, amount, limit);
		},
		settle: (id, amount) => {
			asked.push({ settle: amount.tokens });
			return settle(id, amount);
		},
		state: async (limit) => budgetState(limit, nothing, nothing),
	};
	const stubs: LedgerApi[] = [];
	const owner = {
		limit: { tokens: 1_000 },
		ledger: () => {
			stubs.push(ledger);
			return ledger;
		},
	};
	return { asked, stubs, owner };
}

/** A meter over the tables of an object of its own. */
async function withMeter(
	about: Partial<Parameters<typeof sessionMeter>[0]>,
	work: (meter: SessionMeter, store: SessionStore) => Promise<void>,
): Promise<void> {
	await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => {
		const store = new SessionStore(storage);
		store.create({ id: 's', agent: 'scripted', owner: 'local', createdAt: 1 });
		const options = { store, sessionId: 's', record, limit: () => ({}), priceOf: () => 0, atCrashPoint: () => {} };
		await work(sessionMeter({ ...options, ...about }), store);
	});
}

describe('the owner of a session, whose day has a limit', () => {
	test('has each request set aside before it and settled after it', async () => {
		const { owner, asked } = ledgerOf(async () => ({ ok: true }));
		await withMeter({ owner }, async (meter) => {
			expect(await meter.reserve(request)).toBe(50);
			meter.settle({ inputTokens: 90, outputTokens: 10 });
			await meter.reserve(request);
			expect(asked).toEqual([{ reserve: 150 }, { settle: 100 }, { reserve: 150 }]);
		});
	});

	test('has a reply that the agent does not bound made shorter, where less than that is left of the day', async () => {
		const left = budgetState({ tokens: 1_000 }, { tokens: 600, usd: 0 }, nothing);
		const { owner, asked } = ledgerOf(async (_, { tokens }) =>
			tokens > 400 ? { ok: false, state: left } : { ok: true },
		);
		await withMeter({ owner }, async (meter, store) => {
			expect(await meter.reserve({ ...request, maxOutputTokens: undefined })).toBe(300);
			expect(asked).toContainEqual({ reserve: 400 });
			expect(stateOf(store, {}).reserved.tokens).toBe(400);
		});
	});

	test('refuses what does not fit, and nothing stays set aside', async () => {
		const full = budgetState({ tokens: 1_000 }, { tokens: 990, usd: 0 }, nothing);
		const { owner } = ledgerOf(async () => ({ ok: false, state: full }));
		await withMeter({ owner }, async (meter, store) => {
			await expect(meter.reserve(request)).rejects.toMatchObject({ code: 'budget_exceeded', data: { scope: 'day' } });
			expect(stateOf(store, {})).toMatchObject({ spent: nothing, reserved: nothing });
		});
	});

	test('that cannot be reached refuses: no model is asked, and nothing stays set aside', async () => {
		const { owner } = ledgerOf(async () => {
			throw new Error('gone');
		});
		await withMeter({ owner }, async (meter, store) => {
			await expect(meter.reserve(request)).rejects.toMatchObject({ code: 'overloaded' });
			expect(stateOf(store, {})).toMatchObject({ spent: nothing, reserved: nothing });
		});
	});

	test.each([
		['failed on its way is made again, on a new stub', { retryable: true }, 2],
		['met an overloaded ledger is not', { retryable: true, overloaded: true }, 1],
	])('a call that %s', async (_, about, stubs) => {
		let failed = false;
		const one = ledgerOf(async () => {
			if (failed) return { ok: true };
			failed = true;
			throw Object.assign(new Error('no'), about);
		});
		await withMeter({ owner: one.owner }, async (meter) => {
			await Promise.resolve(meter.reserve(request)).catch(() => {});
			expect(one.stubs).toHaveLength(stubs);
		});
	});

	test('is told of what it could not be told before the next request', async () => {
		let reachable = true;
		const { owner, asked } = ledgerOf(
			async () => ({ ok: true }),
			async () => {
				if (!reachable) throw new Error('gone');
			},
		);
		await withMeter({ owner }, async (meter, store) => {
			await meter.reserve(request);
			meter.settle({ inputTokens: 1, outputTokens: 1 });
			reachable = false;
			await expect(meter.reserve(request)).rejects.toMatchObject({ code: 'overloaded' });
			reachable = true;
			await meter.reserve(request);
			expect(asked.at(-2)).toEqual({ settle: 2 });
			expect(store.spending.owed()).toEqual([]);
		});
	});
});

test('a request that cost more than was set aside costs what it cost', async () => {
	await withMeter({}, async (meter, store) => {
		await meter.reserve(request);
		meter.settle({ inputTokens: 5_000, outputTokens: 1 });
		expect(stateOf(store, { tokens: 100 })).toMatchObject({ spent: { tokens: 5_001 }, left: { tokens: 0 } });
	});
});
