/** The spending by agent, model, user and unit. */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

const owner = `spender-${crypto.randomUUID().slice(0, 8)}`;
let keys: Readonly<Record<'staff' | 'boss' | 'customer' | 'admin', string>>;
let bindings: Record<string, unknown>;

beforeAll(async () => {
	const made = await createKeys(
		{
			staff: { owner, user: 'sam', role: 'staff' },
			boss: { owner, role: 'admin' },
			customer: { owner, user: 'kim', role: 'customer' },
			admin: ['admin'],
		},
		{ DAY_BUDGET_TOKENS: '1000000' },
	);
	({ keys, bindings } = made);
	const usage = { inputTokens: 1_000, outputTokens: 100 };
	const searched = { ...usage, cachedInputTokens: 750, units: { web_searches: 2 }, costUsd: 0.25 };
	play(
		{ text: 'one', usage: searched },
		{ text: 'two', usage },
		{ text: 'three', usage: { ...usage, outputTokens: 50 } },
	);
	for (const [name, more] of [
		['customer', {}],
		['boss', { model: 'scripted-unpriced' }],
		['boss', { agent: 'prompted', user: 'lee' }],
	] as const)
		expect((await ask(keys[name], 'sessions', { agent: 'scripted', text: 'go', ...more })).status).toBe(201);
	await vi.waitFor(async () => expect((await read('')).usage[0]?.spent.tokens).toBe(3_250), { timeout: 20_000 });
}, 30_000);

const ask = (credential: string, path: string, body?: object, method = body === undefined ? 'GET' : 'POST') =>
	worker.request(
		`https://runlet.example.com/v1/${path}`,
		{
			method,
			headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
			...(body !== undefined && { body: JSON.stringify(body) }),
		},
		bindings,
	);

interface Group {
	readonly [field: string]: unknown;
	readonly spent: { readonly tokens: number; readonly usd: number | null };
}

interface Usage {
	readonly usage: readonly { readonly day: string; readonly spent: { tokens: number }; unpricedTokens?: number }[];
	readonly groups?: readonly Group[];
}

async function read(query: string, name: keyof typeof keys = 'staff'): Promise<Usage> {
	const response = await ask(keys[name], `usage${query}`);
	expect(response.status).toBe(200);
	return response.json();
}

const readGroups = async (query: string, name?: keyof typeof keys) => (await read(query, name)).groups ?? [];

describe('GET /v1/usage?by=', () => {
	test('groups by each field alone, and by all fields together', async () => {
		const by = async (fields: string) => {
			const groups = await readGroups(`?by=${fields}`);
			return groups.map(({ agent, model, user, spent }) => [agent, model, user, spent.tokens]);
		};
		expect(await by('agent')).toEqual([
			['scripted', undefined, undefined, 2_200],
			['prompted', undefined, undefined, 1_050],
		]);
		expect(await by('model')).toEqual([
			[undefined, 'scripted', undefined, 2_150],
			[undefined, 'scripted-unpriced', undefined, 1_100],
		]);
		expect(await by('user')).toEqual(
			expect.arrayContaining([
				[undefined, undefined, 'kim', 1_100],
				[undefined, undefined, 'lee', 1_050],
				[undefined, undefined, undefined, 1_100],
			]),
		);
		expect(await by('user,agent,model')).toHaveLength(3);
	});

	test('has the share of cached input, the units, and the price if it is known', async () => {
		const groups = await readGroups('?by=model');
		expect(groups).toMatchObject([
			{
				...{ owner, model: 'scripted', inputTokens: 2_000, cachedInputTokens: 750, cachedShare: 0.375 },
				...{ units: { web_searches: 2 }, spent: { usd: 1.3 } },
			},
			{ model: 'scripted-unpriced', spent: { usd: null }, unpricedTokens: 1_100, cachedShare: 0, units: {} },
		]);
		expect(groups[0]).not.toHaveProperty('unpricedTokens');
		expect(await readGroups('?by=agent')).toMatchObject([
			{ agent: 'scripted', spent: { usd: 0.25 }, unpricedTokens: 1_100 },
			{ agent: 'prompted', spent: { usd: 1.05 } },
		]);
		expect((await read('')).usage).toMatchObject([{ unpricedTokens: 1_100 }]);
	});

	test('with by=unit counts the units and shows no cost', async () => {
		const units = async (query: string) =>
			(await readGroups(query)).map(({ agent, unit, count, spent }) => [agent, unit, count, spent]);
		expect(await units('?by=unit')).toEqual([
			[undefined, 'input_tokens', 3_000, undefined],
			[undefined, 'cached_input_tokens', 750, undefined],
			[undefined, 'output_tokens', 250, undefined],
			[undefined, 'web_searches', 2, undefined],
		]);
		expect(await units('?by=agent,unit&user=kim')).toContainEqual(['scripted', 'web_searches', 2, undefined]);
		expect(await units('?by=unit&user=lee')).not.toContainEqual([undefined, 'web_searches', 2, undefined]);
	});

	test('has no groups if the query names no field, and refuses unknown fields', async () => {
		for (const query of ['', '?by=']) expect(await read(query)).not.toHaveProperty('groups');
		for (const by of ['owner', 'agent,', ',', 'agent;model', 'agent,agents', 'AGENT'])
			expect((await ask(keys.staff, `usage?by=${encodeURIComponent(by)}`)).status).toBe(400);
	});

	test('shows staff only their own owner, shows a key with the scope admin all owners, and refuses customers', async () => {
		expect((await ask(keys.customer, 'usage?by=user')).status).toBe(403);
		expect((await ask(keys.customer, 'usage?by=agent&user=kim')).status).toBe(403);
		expect((await ask(keys.staff, 'usage?by=user&owner=somebody')).status).toBe(403);
		expect(new Set((await readGroups('?by=agent')).map((group) => group.owner))).toEqual(new Set([owner]));
		expect(await readGroups(`?by=agent&owner=${owner}`, 'admin')).toEqual(await readGroups('?by=agent'));
		expect((await readGroups('?by=agent', 'admin')).map((group) => group.owner)).toContain(owner);
	});
});

test('the export of a user contains the user’s spending, and the erasure removes the name from the spending', async () => {
	const exported = await (await ask(keys.boss, 'users/lee')).json<{ spending: unknown }>();
	expect(exported.spending).toMatchObject([
		{ agent: 'prompted', model: 'scripted', spent: { tokens: 1_050, usd: 1.05 } },
	]);
	expect((await ask(keys.boss, 'users/lee', undefined, 'DELETE')).status).toBe(200);
	const groups = await readGroups('?by=user,agent');
	expect(JSON.stringify(groups)).not.toContain('lee');
	expect(groups).toContainEqual(expect.objectContaining({ agent: 'prompted', user: '*' }));
	expect(await readGroups('?by=agent&user=lee')).toEqual([]);
	expect((await read('')).usage[0]?.spent.tokens).toBe(3_250);
});
