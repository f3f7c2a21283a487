import { env, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { setClock } from '../../clock.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

let keys: Readonly<Record<'ann' | 'ben' | 'admin' | 'staff' | 'customer', string>>;
let bindings: Record<string, unknown>;

beforeAll(async () => {
	({ keys, bindings } = await createKeys(
		{
			ann: ['run'],
			ben: ['run'],
			admin: ['admin'],
			staff: { owner: 'ann', user: 'sam', role: 'staff' },
			customer: { owner: 'ann', user: 'kim', role: 'customer' },
		},
		{ SESSION_BUDGET_TOKENS: '3000000', DAY_BUDGET_USD: '4', DAY_BUDGET_TOKENS: 'none' },
	));
});

const ask = (credential: string, path: string, body?: object) =>
	worker.request(
		`https://runlet.example.com/v1/${path}`,
		{
			method: body === undefined ? 'GET' : 'POST',
			headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
			...(body !== undefined && { body: JSON.stringify(body) }),
		},
		bindings,
	);

interface Usage {
	readonly budgets: object;
	readonly usage: readonly {
		owner: string;
		user?: string;
		day: string;
		spent: { tokens: number };
		reserved: { tokens: number };
		limit: object;
	}[];
	readonly storage: readonly { readonly owner: string }[];
	readonly cursor?: string;
}

async function read(query = '', name: keyof typeof keys = 'admin'): Promise<Usage> {
	const response = await ask(keys[name], `usage${query}`);
	expect(response.status).toBe(200);
	return response.json();
}

describe('GET /v1/usage', () => {
	test('shows a caller with the scope `admin` the spending of each owner, or of one owner', async () => {
		for (const [name, outputTokens] of [
			['ann', 10],
			['ben', 20],
		] as const) {
			play({ text: 'done', usage: { inputTokens: 100, outputTokens } });
			expect((await ask(keys[name], 'sessions', { agent: 'scripted', text: 'go' })).status).toBe(201);
		}
		const today = new Date().toISOString().slice(0, 10);
		const rows = async (query?: string) =>
			(await read(query)).usage.map(({ owner, day, spent }) => [owner, day, spent.tokens]);
		await expect.poll(() => rows()).toContainEqual(['ann', today, 110]);
		await expect.poll(() => rows()).toContainEqual(['ben', today, 120]);
		expect(await rows('?owner=ann')).toEqual([['ann', today, 110]]);
		expect(await rows('?owner=nobody')).toEqual([]);
		expect((await read('?owner=ann')).usage[0]?.limit).toEqual({ usd: 4 });
	});

	test('returns the default budgets', async () => {
		expect((await read()).budgets).toEqual({ session: { tokens: 3_000_000 }, day: { usd: 4 } });
	});

	test('shows staff the spending of their own owner only, and refuses customers', async () => {
		const today = new Date().toISOString().slice(0, 10);
		play({ text: 'done', usage: { inputTokens: 1_000, outputTokens: 1 } });
		expect((await ask(keys.customer, 'sessions', { agent: 'scripted', text: 'go' })).status).toBe(201);
		const rows = async (query: string, name: keyof typeof keys) =>
			(await read(query, name)).usage.map(({ owner, user, day, spent }) => [owner, user, day, spent.tokens]);
		const whole = (await read('?owner=ann')).usage[0]?.spent.tokens;
		await expect.poll(() => rows('?user=kim', 'staff')).toEqual([['ann', 'kim', today, 1_001]]);
		for (const name of ['staff', 'ann'] as const) {
			const all = await rows('', name);
			expect(all).toMatchObject([['ann', undefined, today, expect.any(Number)]]);
			expect(all[0]?.[3]).toBeGreaterThanOrEqual(whole ?? Number.NaN);
			expect(await rows('?owner=ann', name)).toEqual(all);
			expect(await rows('?user=nobody', name)).toEqual([]);
			expect((await ask(keys[name], 'usage?owner=ben')).status).toBe(403);
			expect((await ask(keys[name], 'usage?owner=ben&user=kim')).status).toBe(403);
		}
		for (const query of ['', '?user=kim', '?owner=ann', '?owner=ben']) {
			const refused = await ask(keys.customer, `usage${query}`);
			expect([refused.status, await refused.json()]).toMatchObject([403, { error: { data: { role: 'staff' } } }]);
		}
		expect(await rows('?owner=ann&user=kim', 'admin')).toEqual([['ann', 'kim', today, 1_001]]);
		expect(await rows('?owner=ben&user=kim', 'admin')).toEqual([]);
	});

	test('shows 1,000 owners in pages of 100, each once', async () => {
		const owners = Array.from({ length: 1_000 }, (_, n) => `owner-${String(n).padStart(4, '0')}`);
		await runInDurableObject(env.DIRECTORIES.get(env.DIRECTORIES.idFromName('*')), (_, { storage }) =>
			storage.transactionSync(() => {
				for (const owner of owners) storage.sql.exec('INSERT OR IGNORE INTO owner (name) VALUES (?)', owner);
			}),
		);
		const seen: string[] = [];
		for (let cursor: string | undefined = ''; cursor !== undefined; ) {
			const query: string = cursor === '' ? '' : `?cursor=${encodeURIComponent(cursor)}`;
			const page: Usage = await read(query);
			expect(page.storage.length).toBeLessThanOrEqual(100);
			seen.push(...page.storage.map(({ owner }) => owner));
			cursor = page.cursor;
		}
		expect(seen).toEqual([...new Set(seen)].sort());
		expect(seen.filter((owner) => owner.startsWith('owner-'))).toEqual(owners);
		expect(seen).toEqual(expect.arrayContaining(['ann', 'ben', 'webhooks']));
	});

	test('refuses a query with a wrong value', async () => {
		for (const query of ['?days=0', '?days=401', '?days=all', '?owner=*', '?since=today'])
			expect((await ask(keys.admin, `usage${query}`)).status).toBe(400);
	});
});

describe('a default budget', () => {
	const bare = { SESSION_BUDGET_TOKENS: 'none', DAY_BUDGET_TOKENS: 'none' };
	const read = (more: object) => {
		const { SESSION_BUDGET_TOKENS: _, DAY_BUDGET_TOKENS: __, ...unset } = { ...bare, ...env };
		const { sessionBudget, findDayBudget } = readConfig({ ...unset, ...more });
		return [sessionBudget, findDayBudget('local')];
	};

	test('applies to each session and to each day', () => {
		expect(read({})).toEqual([{ tokens: 2_000_000 }, { tokens: 20_000_000 }]);
	});

	test('is replaced by a cap in tokens or dollars, and removed by `none`', () => {
		expect(read({ SESSION_BUDGET_USD: '2.50', DAY_BUDGET_TOKENS: 5_000 })).toEqual([{ usd: 2.5 }, { tokens: 5_000 }]);
		expect(read({ SESSION_BUDGET_TOKENS: 'none', DAY_BUDGET_TOKENS: 'none' })).toEqual([{}, {}]);
	});

	test.each([['lots'], ['-1'], ['0'], [''], ['NaN']])('cannot be %j', (given) => {
		for (const name of ['SESSION_BUDGET_TOKENS', 'SESSION_BUDGET_USD', 'DAY_BUDGET_TOKENS', 'DAY_BUDGET_USD'])
			expect(() => readConfig({ ...env, [name]: given })).toThrow(name);
	});
});

test('the ledger keeps the spending of a past day after it removes the calls of that day', async () => {
	const ledger = env.LEDGERS.get(env.LEDGERS.newUniqueId());
	setClock('2026-01-01');
	await ledger.settle([{ id: 'a', amount: { tokens: 7, usd: 0.5 } }]);
	setClock('2026-01-20');
	await ledger.settle([{ id: 'b', amount: { tokens: 8, usd: 0 } }]);
	const reserved = { tokens: 0, usd: 0 };
	expect(await ledger.days(31)).toEqual([
		{ day: '2026-01-20', spent: { tokens: 8, usd: 0 }, reserved },
		{ day: '2026-01-01', spent: { tokens: 7, usd: 0.5 }, reserved },
	]);
	expect(await ledger.days(5)).toHaveLength(1);
	setClock();
});
