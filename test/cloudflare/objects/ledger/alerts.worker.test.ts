/** Alerts at 50, 80 and 100 % of a budget. */
import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import * as v from 'valibot';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { readConfig } from '../../../../src/cloudflare/config/config.ts';
import type { Limit } from '../../../../src/cloudflare/objects/budget.ts';
import type { SpendingAlert } from '../../../../src/cloudflare/objects/ledger/spending-alert.ts';
import { LedgerStore } from '../../../../src/cloudflare/objects/ledger/store.ts';
import { createAlertSender, type OnSpending } from '../../../../src/cloudflare/runlet/spending.ts';
import { setClock } from '../../../clock.ts';
import { createKeys } from '../../../credentials.ts';
import { counted } from '../../../rows.ts';
import { play } from '../../../script.ts';
import worker, { watching } from '../../../worker.ts';
import { callbackSecret } from '../../wire/protocols/webhooks/senders.ts';

type Stub = ReturnType<typeof newLedger>;

const newLedger = () => env.LEDGERS.get(env.LEDGERS.newUniqueId());
const about = { owner: 'shop', input: { tokens: 1, usd: 0 } };
const one = { tokens: 1, usd: 0 };

let told: SpendingAlert[] = [];
beforeEach(() => {
	told = [];
	watching.onSpending = (alert) => void told.push(alert);
});
afterEach(() => {
	watching.onSpending = undefined;
	setClock();
});

const toWords = ({ scope, user, percent }: SpendingAlert) =>
	[scope, user, percent].filter((word) => word !== undefined).join(' ');

/** Delivers all due alerts, and returns the alerts since the last call of this function. */
async function takeTold(ledger: Stub): Promise<readonly string[]> {
	while ((await countOutgoing(ledger)) > 0) {
		await runInDurableObject(ledger, (_, { storage }) => storage.sql.exec('UPDATE outgoing SET due_at = 0').toArray());
		await runDurableObjectAlarm(ledger);
	}
	return told.splice(0).map(toWords).sort();
}

const countOutgoing = (ledger: Stub) =>
	runInDurableObject(ledger, (_, { storage }) => storage.sql.exec('SELECT 1 FROM outgoing').toArray().length);

async function spend(
	ledger: Stub,
	id: string,
	tokens: number,
	{ limit = {} as Limit, user = undefined as string | undefined } = {},
) {
	await ledger.reserve({ id, amount: one, limit, user, about });
	await ledger.settle([{ id, amount: { tokens, usd: 0 }, user }]);
}

test('sends one alert each at 50, 80 and 100 percent of a daily budget', async () => {
	const ledger = newLedger();
	const limit = { tokens: 1_000, usd: 5 };
	setClock('2026-11-22');
	await spend(ledger, 'a', 499, { limit });
	expect(await takeTold(ledger)).toEqual([]);
	await spend(ledger, 'b', 1, { limit });
	await runDurableObjectAlarm(ledger);
	await expect
		.poll(() => told)
		.toEqual([{ owner: 'shop', scope: 'day', percent: 50, day: '2026-11-22', spent: { tokens: 500, usd: 0 }, limit }]);
	expect(await takeTold(ledger)).toEqual(['day 50']);
	await spend(ledger, 'c', 500, { limit });
	expect(await takeTold(ledger)).toEqual(['day 100', 'day 80']);
	await ledger.settle([{ id: 'd', amount: { tokens: 100, usd: 9 } }]);
	expect(await takeTold(ledger)).toEqual([]);
	setClock('2026-11-23');
	await spend(ledger, 'e', 600, { limit });
	expect(await takeTold(ledger)).toEqual(['day 50']);
});

test('a budget in dollars causes alerts like a budget in tokens', async () => {
	const ledger = newLedger();
	await ledger.reserve({ id: 'a', amount: one, limit: { usd: 0.6 }, about });
	await ledger.settle([{ id: 'a', amount: { tokens: 1, usd: 0.1 } }]);
	await ledger.settle([{ id: 'b', amount: { tokens: 1, usd: 0.2 } }]);
	expect(await takeTold(ledger)).toEqual(['day 50']);
});

test('a repeated lease, a restart and a late lease of the previous day send no alert twice', async () => {
	const ledger = newLedger();
	const limit = { tokens: 100 };
	setClock('2026-11-22');
	await ledger.reserve({ id: 'late', amount: one, limit, about });
	for (const _ of ['first', 'again']) {
		await spend(ledger, 'a', 60, { limit });
		await evictDurableObject(ledger);
	}
	expect(await takeTold(ledger)).toEqual(['day 50']);
	setClock('2026-11-23');
	await ledger.settle([{ id: 'late', amount: { tokens: 25, usd: 0 } }]);
	await runDurableObjectAlarm(ledger);
	await expect.poll(() => told).toMatchObject([{ percent: 80, day: '2026-11-22', spent: { tokens: 85 } }]);
	expect(await takeTold(ledger)).toEqual(['day 80']);
});

test('sends separate alerts for a user’s daily budget and total budget', async () => {
	const ledger = newLedger();
	setClock('2026-11-22');
	await ledger.setUserCaps('kim', { daily: { tokens: 100 }, total: { tokens: 300 } });
	await spend(ledger, 'a', 90, { user: 'kim' });
	await spend(ledger, 'b', 90, { user: 'lee' });
	expect(await takeTold(ledger)).toEqual(['user-day kim 50', 'user-day kim 80']);
	setClock('2026-11-23');
	await spend(ledger, 'c', 70, { user: 'kim' });
	expect(await takeTold(ledger)).toEqual(['user-day kim 50', 'user-total kim 50']);
	setClock('2026-11-27');
	await spend(ledger, 'd', 10, { user: 'kim' });
	expect(await takeTold(ledger)).toEqual([]);
});

test('after the limit was raised, an alert is sent again when the spending reaches the alert’s percentage again', async () => {
	const ledger = newLedger();
	await spend(ledger, 'a', 80, { limit: { tokens: 100 } });
	expect(await takeTold(ledger)).toEqual(['day 50', 'day 80']);
	await spend(ledger, 'b', 5, { limit: { tokens: 160 } });
	// More than half of the new limit is already spent.
	expect(await takeTold(ledger)).toEqual([]);
	await spend(ledger, 'c', 45, { limit: { tokens: 160 } });
	expect(await takeTold(ledger)).toEqual(['day 80']);
	// A request with the old limit sends only new alerts.
	await spend(ledger, 'd', 1, { limit: { tokens: 100 } });
	expect(await takeTold(ledger)).toEqual(['day 100']);
	await spend(ledger, 'e', 1, { limit: { tokens: 160 } });
	await spend(ledger, 'f', 1, { limit: { tokens: 100 } });
	expect(await takeTold(ledger)).toEqual([]);
	await spend(ledger, 'g', 400, { limit: { tokens: 1_000 } });
	expect(await takeTold(ledger)).toEqual(['day 50']);
});

test('after a user’s cap was raised, the alert at 50 percent is sent again', async () => {
	const ledger = newLedger();
	await ledger.setUserCaps('kim', { total: { tokens: 100 } });
	await spend(ledger, 'a', 100, { user: 'kim' });
	expect(await takeTold(ledger)).toEqual(['user-total kim 100', 'user-total kim 50', 'user-total kim 80']);
	await ledger.setUserCaps('kim', { total: { tokens: 1_000 } });
	await spend(ledger, 'b', 450, { user: 'kim' });
	expect(await takeTold(ledger)).toEqual(['user-total kim 50']);
});

test('sends the alert at 100 percent only if the input of a request exceeds the unspent budget', async () => {
	const ledger = newLedger();
	const limit = { tokens: 100 };
	const ask = (id: string, tokens: number, input: number) =>
		ledger.reserve({
			id,
			amount: { tokens, usd: 0 },
			limit,
			about: {
				owner: 'shop',
				input: { tokens: input, usd: 0 },
			},
		});
	expect(await ask('huge', 1_000, 500)).toMatchObject({ ok: false });
	expect(await takeTold(ledger)).toEqual([]);
	await spend(ledger, 'a', 85, { limit });
	expect(await takeTold(ledger)).toEqual(['day 50', 'day 80']);
	await ask('held', 10, 10);
	expect(await ask('waits', 10, 10)).toMatchObject({ ok: false });
	expect(await ask('shorter', 40, 4)).toMatchObject({ ok: false });
	expect(await takeTold(ledger)).toEqual([]);
	for (const id of ['over', 'again']) expect(await ask(id, 40, 20)).toMatchObject({ ok: false });
	expect(await takeTold(ledger)).toEqual(['day 100']);
});

test('retries a failed alert until it succeeds, and drops an alert without a receiver', async () => {
	const ledger = newLedger();
	const failures = [new Error('no'), 'no'];
	watching.onSpending = async (alert) => {
		const failure = failures.pop();
		if (failure !== undefined) throw failure;
		told.push(alert);
	};
	await spend(ledger, 'a', 60, { limit: { tokens: 100 } });
	await runDurableObjectAlarm(ledger);
	await expect.poll(() => failures.length).toBe(1);
	expect([told, await countOutgoing(ledger)]).toEqual([[], 1]);
	const at = await runInDurableObject(ledger, (_, { storage }) => storage.getAlarm());
	expect(at).toBeGreaterThan(Date.now());
	await evictDurableObject(ledger);
	expect(await takeTold(ledger)).toEqual(['day 50']);
	await spend(ledger, 'b', 30, { limit: { tokens: 100 } });
	watching.onSpending = undefined;
	expect(await takeTold(ledger)).toEqual([]);
});

test('writes and reads no rows for alerts without receivers', async () => {
	const ledger = newLedger();
	watching.onSpending = undefined;
	await spend(ledger, 'a', 100, { limit: { tokens: 100 }, user: 'kim' });
	await runInDurableObject(ledger, async (_, { storage }) => {
		for (const table of ['alert', 'outgoing', 'watched'])
			expect(storage.sql.exec(`SELECT * FROM ${table}`).toArray()).toEqual([]);
		expect(await storage.getAlarm()).toBeNull();
		const { storage: counting, rows } = counted(storage);
		const store = new LedgerStore(counting);
		rows();
		store.reserve(1, { id: 'b', amount: one, about, limit: { tokens: 100 } });
		store.settle(1, [{ id: 'b', amount: one }]);
		expect(rows().written).toBe(2);
	});
});

const received = v.array(v.object({ headers: v.record(v.string(), v.string()), body: v.string() }));

test('signs the callback of an alert, keeps its id in a retry, and stops after status 410', async () => {
	const url = `${inject('receiver')}/${crypto.randomUUID()}`;
	await fetch(url, { method: 'PUT', body: JSON.stringify([500]) });
	const sender = createAlertSender(undefined, readConfig({ ...env, SPENDING_CALLBACK: url }));
	const alert = {
		owner: 'shop',
		scope: 'day',
		percent: 50,
		day: '2026-11-22',
		spent: one,
		limit: { tokens: 2 },
	} as const;
	const outgoing = { id: 'msg_1', receiver: 'callback', alert };
	expect(sender?.receivers).toEqual(['callback']);
	expect(await sender?.send({ ...outgoing, failed: 0 })).toBeGreaterThan(4_999);
	expect(await sender?.send({ ...outgoing, failed: 1 })).toBeUndefined();
	const requests = v.parse(received, await (await fetch(url)).json());
	expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual(['msg_1', 'msg_1']);
	for (const { headers, body } of requests)
		expect(new Webhook(callbackSecret).verify(body, headers)).toMatchObject({ type: 'spending.alert', data: alert });
	await fetch(url, { method: 'PUT', body: JSON.stringify([410]) });
	expect(await sender?.send({ ...outgoing, failed: 0 })).toBeUndefined();
	expect(await sender?.send({ ...outgoing, failed: 9 })).toBeUndefined();
});

test('refuses SPENDING_CALLBACK with an invalid URL or without CALLBACK_SECRET', () => {
	const url = 'https://example.com/hooks';
	const { CALLBACK_SECRET: _, ...bare } = { CALLBACK_SECRET: '', ...env };
	expect(() => readConfig({ ...bare, SPENDING_CALLBACK: url })).toThrow('CALLBACK_SECRET');
	expect(() => readConfig({ ...env, SPENDING_CALLBACK: 'hooks' })).toThrow('SPENDING_CALLBACK');
	expect(createAlertSender(undefined, readConfig({ ...env }))).toBeUndefined();
	const onSpending: OnSpending = () => {};
	expect(createAlertSender(onSpending, readConfig({ ...env, SPENDING_CALLBACK: url }))?.receivers).toEqual([
		'function',
		'callback',
	]);
});

test('a session that spends half of its user’s total budget causes an alert', async () => {
	const owner = `alerts-${crypto.randomUUID().slice(0, 8)}`;
	const { keys, bindings } = await createKeys(
		{ boss: { owner, role: 'admin' } },
		{ DAY_BUDGET_TOKENS: 'none', DAY_BUDGET_USD: '2' },
	);
	const ask = (path: string, method: string, body: object) =>
		worker.request(
			`https://runlet.example.com/v1/${path}`,
			{
				method,
				headers: { authorization: `Bearer ${keys.boss}`, 'content-type': 'application/json' },
				body: JSON.stringify(body),
			},
			bindings,
		);
	await ask('users/kim/budget', 'PUT', { daily: { tokens: 2_000_000 }, total: { tokens: 1_900 } });
	play({ text: 'done', usage: { inputTokens: 900, outputTokens: 100 } });
	expect((await ask('sessions', 'POST', { agent: 'scripted', user: 'kim', text: 'go' })).status).toBe(201);
	await expect.poll(() => told.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(1);
	expect(told.filter((alert) => alert.owner === owner).map(toWords)).toContain('user-total kim 50');
}, 30_000);

const limits = [50, 100, 200] as const;
const step = fc.record({
	kind: fc.constantFrom('spend', 'spend', 'spend', 'again', 'restart', 'deliver', 'next day'),
	tokens: fc.integer({ min: 1, max: 40 }),
	limit: fc.constantFrom(...limits),
});

test('in random orders of events, each alert is sent exactly once for its day and limit, and never early', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
			const ledger = newLedger();
			told = [];
			let day = 1;
			setClock('2026-05-01');
			const costs: { id: string; tokens: number; limit: Limit }[] = [];
			for (const [index, { kind, tokens, limit }] of steps.entries()) {
				const last = costs.at(-1);
				if (kind === 'next day') setClock(`2026-05-0${Math.min(9, ++day)}`);
				else if (kind === 'restart') {
					await ledger.state({});
					await evictDurableObject(ledger);
				} else if (kind === 'deliver') await runDurableObjectAlarm(ledger);
				else if (kind === 'again' && last !== undefined)
					await spend(ledger, last.id, last.tokens, { limit: last.limit });
				else {
					const cost = { id: `${index}`, tokens, limit: { tokens: limit } };
					costs.push(cost);
					await spend(ledger, cost.id, tokens, cost);
				}
			}
			while ((await countOutgoing(ledger)) > 0) await runDurableObjectAlarm(ledger);
			const names = told.map(({ day: on, percent, limit }) => `${on} ${percent} ${limit.tokens}`);
			expect(new Set(names).size).toBe(names.length);
			for (const { spent, limit, percent } of told)
				expect(spent.tokens * 100).toBeGreaterThanOrEqual((limit.tokens ?? Infinity) * percent);
			// Spending that reached the largest limit of a day causes an alert for some limit.
			for (const { day: on, spent } of await ledger.days(30))
				for (const percent of [50, 80, 100].filter((one) => spent.tokens * 100 >= 200 * one))
					expect(names.some((name) => name.startsWith(`${on} ${percent} `))).toBe(true);
		}),
		{ numRuns: 40 },
	);
});
