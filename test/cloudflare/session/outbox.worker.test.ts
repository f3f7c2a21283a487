import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import type { Cost, LeaseRequest } from '../../../src/cloudflare/objects/ledger/api.ts';
import { allEvents, createSession, querySession, readObject, readState, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';
import { forever, post } from './stage.ts';

const usage = { inputTokens: 40, outputTokens: 2 };
const down = () => {
	throw new Error('It is down.');
};

/** Changes the configuration of the Worker under test. The returned function changes it back. */
async function changed(more: object): Promise<() => void> {
	const own = await runInDurableObject(readObject(await createSession()), (one) => readConfig(Reflect.get(one, 'env')));
	const before = Object.getOwnPropertyDescriptors(own);
	Object.assign(own, more);
	return () => void Object.defineProperties(own, before);
}

/** A namespace whose objects have the methods of `calls` instead of their own methods of these names. */
function readNamespace<T extends object>(
	real: { get(id: DurableObjectId): T; idFromName(name: string): DurableObjectId },
	calls: object,
) {
	return {
		idFromName: (name: string) => real.idFromName(name),
		get: (id: DurableObjectId) => {
			const stub = real.get(id);
			return new Proxy(stub, { get: (_, name) => Reflect.get(calls, name) ?? Reflect.get(stub, name) });
		},
	};
}

const owed = (id: string) => querySession<{ id: string; failed: number }>(id, 'SELECT id, failed FROM outbox');
const alarmIn = async (id: string) =>
	((await runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm())) ?? Number.POSITIVE_INFINITY) -
	Date.now();
const day = async () => env.LEDGERS.get(env.LEDGERS.idFromName('local')).state({});
const listed = async (id: string) => {
	const { sessions } = await (await request('/v1/sessions?limit=100')).json<{ sessions: { id: string }[] }>();
	return sessions.some((one) => one.id === id);
};
/** Runs the alarm as if its time had come. */
const later = async (id: string) => {
	await querySession(id, 'UPDATE outbox SET due_at = 0');
	await runDurableObjectAlarm(readObject(id));
};
/** Waits until the list got its report. The alarm may run during an attempt that then fails. */
const listedInTheEnd = (id: string) =>
	expect.poll(() => later(id).then(() => listed(id)), { timeout: 30_000 }).toBe(true);

beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

describe('the cost of a request', () => {
	test.each([
		['fails', down],
		['hangs', forever],
	])('is reported again within 12 s if the ledger %s, until it succeeds', async (_, settle) => {
		const restore = await changed({ ledgers: readNamespace(env.LEDGERS, { settle }) });
		const before = (await day()).spent.tokens;
		const id = await createSession('thrifty');
		try {
			play({ text: 'done', usage });
			expect((await allEvents(await send(id, 'go'))).at(-1)?.type).toBe('done');
			expect(await alarmIn(id)).toBeLessThan(12_000);
			await expect.poll(async () => (await owed(id))[0]?.failed, { timeout: 30_000 }).toBe(1);
			const soon = await alarmIn(id);
			expect(soon).toBeLessThanOrEqual(10_000);
			if (settle === down) {
				await later(id);
				expect(await owed(id)).toMatchObject([{ failed: 2 }]);
				expect(await alarmIn(id)).toBeGreaterThan(soon);
			}
		} finally {
			restore();
		}
		await later(id);
		expect(await owed(id)).toEqual([]);
		expect(await alarmIn(id)).toBe(Number.POSITIVE_INFINITY);
		expect(await day()).toMatchObject({ spent: { tokens: before + 42 }, reserved: { tokens: 0 } });
	});

	test('is reported after a failed run, a crash and the deletion of the session', async () => {
		const restore = await changed({
			findDayBudget: () => ({ tokens: 100_000 }),
			ledgers: readNamespace(env.LEDGERS, { settle: down }),
		});
		const before = (await day()).spent.tokens;
		const id = await createSession('thrifty');
		try {
			const { requests } = play(forever, forever, forever, 'never');
			await post(id);
			for (const lives of [1, 2, 3]) {
				await expect.poll(() => requests.length).toBe(lives);
				await restart(id);
				await readState(id);
			}
			await expect.poll(async () => (await readState(id)).status).toBe('error');
			expect((await day()).reserved.tokens).toBeGreaterThan(0);
			expect((await request(`/v1/sessions/${id}`, {}, {}, 'DELETE')).status).toBe(204);
			expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
			const left = await runInDurableObject(readObject(id), (_, { storage }) =>
				['message', 'run', 'session', 'spending'].map(
					(name) => storage.sql.exec(`SELECT * FROM ${name}`).toArray().length,
				),
			);
			expect(left).toEqual([0, 0, 0, 0]);
			expect(await alarmIn(id)).toBeLessThan(12_000);
		} finally {
			restore();
		}
		await later(id);
		expect(await day()).toMatchObject({ reserved: { tokens: 0 } });
		expect((await day()).spent.tokens).toBeGreaterThan(before + 3 * 10);
		expect(await runInDurableObject(readObject(id), (_, { storage }) => storage.sql.databaseSize)).toBeLessThan(20_000);
		expect(await alarmIn(id)).toBe(Number.POSITIVE_INFINITY);
	});

	test('is reported in the call that reserves the next request', async () => {
		const failing = await changed({ ledgers: readNamespace(env.LEDGERS, { settle: down }) });
		const before = (await day()).spent.tokens;
		const id = await createSession('thrifty');
		try {
			for (const _ of [1, 2, 3]) {
				play({ text: 'done', usage });
				await allEvents(await send(id, 'go'));
			}
		} finally {
			failing();
		}
		expect(await owed(id)).toHaveLength(3);
		const ledger = () => env.LEDGERS.get(env.LEDGERS.idFromName('local'));
		const told: string[][] = [];
		const note = (costs: readonly Cost[] = []) => void told.push(costs.map((cost) => cost.id));
		const settle = async (costs: readonly Cost[]) => {
			note(costs);
			await ledger().settle(costs);
		};
		const reserve = (lease: LeaseRequest) => {
			note(lease.owed);
			return ledger().reserve(lease);
		};
		const restore = await changed({
			ledgers: readNamespace(env.LEDGERS, { settle, reserve }),
		});
		try {
			let atModel: number | undefined;
			play(() => {
				atModel = told.length;
				return { text: 'done', usage };
			});
			await allEvents(await send(id, 'go'));
			expect(atModel).toBe(1);
			expect(told[0]).toHaveLength(3);
			await expect.poll(() => owed(id)).toEqual([]);
			const all = told.flat();
			expect(all).toHaveLength(4);
			expect(new Set(all).size).toBe(4);
		} finally {
			restore();
		}
		expect(await day()).toMatchObject({ spent: { tokens: before + 4 * 42 }, reserved: { tokens: 0 } });
	});

	test('is reported by the next instance after a crash, and counts once if it is reported twice', async () => {
		const restore = await changed({ ledgers: readNamespace(env.LEDGERS, { settle: forever }) });
		const before = (await day()).spent.tokens;
		const id = await createSession('thrifty');
		try {
			play({ text: 'done', usage });
			await allEvents(await send(id, 'go'));
			expect((await day()).spent.tokens).toBe(before);
			await restart(id);
		} finally {
			restore();
		}
		expect(await owed(id)).toEqual([]);
		expect(await runDurableObjectAlarm(readObject(id))).toBe(true);
		expect(await day()).toMatchObject({ spent: { tokens: before + 42 }, reserved: { tokens: 0 } });
		expect(await alarmIn(id)).toBe(Number.POSITIVE_INFINITY);
		await restart(id);
		play({ text: 'done', usage });
		await allEvents(await send(id, 'go on'));
		await expect.poll(day).toMatchObject({ spent: { tokens: before + 84 }, reserved: { tokens: 0 } });
	});

	test.each([
		['a day', 86_300_000, 2],
		['more than a day', 86_400_001, 1],
	])('is reported at most twice, under the same id, if an alarm is late by %s', async (_, ms, times) => {
		const told: string[] = [];
		const settle = async (costs: readonly Cost[]) => void told.push(...costs.map((cost) => cost.id));
		const restore = await changed({ ledgers: readNamespace(env.LEDGERS, { settle }) });
		try {
			const id = await createSession('thrifty');
			play({ text: 'done', usage });
			await allEvents(await send(id, 'go'));
			await expect.poll(() => told).toHaveLength(1);
			await runInDurableObject(readObject(id), async (__, { storage }) => {
				storage.sql.exec('UPDATE run SET ended_at = ended_at - ?', ms);
				await storage.setAlarm(Date.now() + 60_000);
			});
			await restart(id);
			expect(await runDurableObjectAlarm(readObject(id))).toBe(true);
			expect(told).toHaveLength(times);
			expect(new Set(told).size).toBe(1);
		} finally {
			restore();
		}
	});

	test('of a kept lease is reported once by the next alarm, and no alarm stays', async () => {
		const told: string[] = [];
		const settle = async (costs: readonly Cost[]) => {
			told.push(...costs.map((cost) => cost.id));
			await env.LEDGERS.get(env.LEDGERS.idFromName('local')).settle(costs);
		};
		const ledgers = readNamespace(env.LEDGERS, { settle });
		const restore = await changed({ findDayBudget: () => ({ tokens: 100_000_000 }), ledgers });
		const before = (await day()).spent.tokens;
		const id = await createSession('thrifty');
		try {
			for (const text of ['one', 'two']) {
				play({ text, usage });
				await allEvents(await send(id, 'go'));
			}
			expect(await alarmIn(id)).toBeLessThan(12_000);
			expect(told).toEqual([]);
			expect((await day()).reserved.tokens).toBeGreaterThan(84);
			expect(await runDurableObjectAlarm(readObject(id))).toBe(true);
			expect(told).toHaveLength(1);
			expect(await day()).toMatchObject({ spent: { tokens: before + 84 }, reserved: { tokens: 0 } });
			expect(await alarmIn(id)).toBe(Number.POSITIVE_INFINITY);
		} finally {
			restore();
		}
	});

	test('does not delay a read of the session if the ledger hangs, but the read lacks the day’s budget', async () => {
		const restore = await changed({
			dayBudgetOf: () => ({ tokens: 100_000 }),
			ledgers: readNamespace(env.LEDGERS, { state: forever }),
		});
		try {
			const state = await readState(await createSession('thrifty'));
			expect(state).toMatchObject({ status: 'idle', budget: { limit: { tokens: 1_000 } } });
			expect(state).not.toHaveProperty('dayBudget');
		} finally {
			restore();
		}
	});
});

describe('the list of sessions', () => {
	test.each([
		['fails', down],
		['hangs', forever],
	])('eventually has a session, even if the directory %s at first', async (_, touch) => {
		const restore = await changed({ directories: readNamespace(env.DIRECTORIES, { touch }) });
		const id = await createSession('thrifty');
		try {
			play({ text: 'done', usage });
			// A run does not wait for the report.
			expect((await allEvents(await send(id, 'go'))).at(-1)?.type).toBe('done');
			expect(await listed(id)).toBe(false);
			await restart(id);
			expect(await alarmIn(id)).toBeLessThan(12_000);
		} finally {
			restore();
		}
		await listedInTheEnd(id);
	});

	test.each([
		['', false],
		[', even if its object restarts', true],
	])('gets at most one report of a session in five minutes%s', async (_, dies) => {
		const id = await createSession();
		play('one', 'two', 'three', 'four');
		await allEvents(await send(id, 'go'));
		await later(id);
		// The end of the run has the time of the report.
		await allEvents(await send(id, 'go on'));
		let touches = 0;
		// Other sessions report to their list meanwhile.
		const touch = (entry: { id: string }) => {
			if (entry.id === id) touches++;
		};
		const restore = await changed({ directories: readNamespace(env.DIRECTORIES, { touch }) });
		try {
			if (dies) await restart(id);
			await allEvents(await send(id, 'again'));
			await expect.poll(() => owed(id)).toEqual([]);
			expect(touches).toBe(0);
			if (dies) await restart(id);
			vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 300_000 });
			await allEvents(await send(id, 'later'));
			await expect.poll(() => touches).toBe(1);
		} finally {
			vi.useRealTimers();
			restore();
		}
	});

	test('keeps a session that was created again under a deleted id', async () => {
		const make = async () => {
			const made = await request('/v1/sessions', { agent: 'thrifty' }, { 'idempotency-key': 'made-again' });
			return (await made.json<{ id: string }>()).id;
		};
		const restore = await changed({ directories: readNamespace(env.DIRECTORIES, { remove: down }) });
		const id = await make();
		try {
			expect((await request(`/v1/sessions/${id}`, {}, {}, 'DELETE')).status).toBe(204);
			expect(await make()).toBe(id);
		} finally {
			restore();
		}
		await listedInTheEnd(id);
		expect((await readState(id)).status).toBe('idle');
	});
});
