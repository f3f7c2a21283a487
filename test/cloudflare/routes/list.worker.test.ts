import { env } from 'cloudflare:test';
import * as v from 'valibot';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ScriptedTurn } from '../../../src/core/providers/scripted.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

const runsOf = v.object({
	runs: v.array(
		v.object({
			createdAt: v.string(),
			spent: v.object({ tokens: v.number(), usd: v.number() }),
			unpricedTokens: v.optional(v.number()),
		}),
	),
});

interface List {
	readonly sessions: readonly { readonly id: string; readonly createdAt: string }[];
	readonly cursor?: string;
}

const mine = env.DIRECTORIES.get(env.DIRECTORIES.idFromName('lister'));
const id = (n: number) => String(n).padStart(64, '0');
/** The list of a new owner. */
let list: (query?: string) => Promise<List>;
beforeAll(async () => {
	const { keys, bindings } = await createKeys({ lister: ['run'] });
	const headers = { authorization: `Bearer ${keys.lister}` };
	list = async (query = '') =>
		(await worker.request(`https://runlet.example.com/v1/sessions${query}`, { headers }, bindings)).json();
});

test('a list without sessions is empty, and has no cursor', async () => {
	expect(await list()).toEqual({ sessions: [] });
});

test('GET /v1/sessions lists the sessions of the owner in pages, by last activity', async () => {
	for (let n = 0; n < 25; n++) {
		const title = n === 24 ? { title: 'Receipts' } : {};
		await mine.touch({ id: id(n), agent: 'scripted', ...title, createdAt: n, activeAt: Date.UTC(2099, 0, 1) + n });
	}
	const other = env.DIRECTORIES.get(env.DIRECTORIES.idFromName('another'));
	await other.touch({ id: id(99), agent: 'scripted', createdAt: 1, activeAt: Date.UTC(2099, 1, 1) });

	const first = await list();
	expect(first.sessions).toHaveLength(20);
	expect(first.sessions[0]).toEqual({
		id: id(24),
		agent: 'scripted',
		title: 'Receipts',
		createdAt: '1970-01-01T00:00:00.024Z',
		lastActivityAt: '2099-01-01T00:00:00.024Z',
	});
	expect(first.sessions[1]).not.toHaveProperty('title');
	const next = await list(`?limit=5&cursor=${first.cursor}`);
	expect([...first.sessions, ...next.sessions].map((session) => session.id)).toEqual(
		Array.from({ length: 25 }, (_, n) => id(24 - n)),
	);
	expect((await list('?limit=100')).sessions.slice(0, 25)).toHaveLength(25);
});

describe('GET /v1/sessions with a filter', () => {
	let ask: (path: string, body?: unknown) => Promise<Response>;
	beforeAll(async () => {
		const { keys, bindings } = await createKeys({ filterer: ['run'] });
		const headers = { authorization: `Bearer ${keys.filterer}`, 'content-type': 'application/json' };
		ask = async (path, body) => {
			const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
			return worker.request(`https://runlet.example.com/v1/sessions${path}`, { ...sent, headers }, bindings);
		};
	});
	const list = async (query: string) => (await ask(query)).json<List>();
	const ids = async (query: string) => (await list(query)).sessions.map((session) => session.id);
	const begin = async (reply: ScriptedTurn, agent = 'scripted') => {
		play(reply);
		return (await (await ask('', { agent, text: 'go' })).json<{ id: string }>()).id;
	};

	test('compares the current status of the sessions', async () => {
		const asks = await begin({ toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which?' } }] });
		const waits = await begin({ toolCalls: [{ id: 'p', name: 'pay', input: { amount: 1 } }] });
		const done = await begin('Done.');
		await expect.poll(() => ids('?status=awaiting_tools')).toEqual([waits]);
		expect(await ids('?status=awaiting_user')).toEqual([asks]);
		expect((await list('?status=completed&limit=1')).sessions).toMatchObject([{ id: done, status: 'completed' }]);
		play('Paid.');
		await ask(`/${waits}/tool-results`, [{ id: 'p', approve: true }]);
		expect(await ids('?status=awaiting_tools')).toEqual([]);
	});

	test('adds the status and the cost of each session, if the query asks for details', async () => {
		const id = await begin({ toolCalls: [{ id: 'p', name: 'pay', input: { amount: 1 } }] });
		const find = async (query: string) => (await list(query)).sessions.find((session) => session.id === id);
		const { status, budget } = await (await ask(`/${id}`)).json<{ status: string; budget: { spent: object } }>();
		await expect.poll(() => find('?details=true')).toMatchObject({ status, spent: budget.spent });
		expect(await find('?details=false')).not.toHaveProperty('spent');
	});

	test('adds the newest runs of each session, each with its own cost, if the query asks for runs', async () => {
		const id = await begin('1');
		play('2');
		await ask(`/${id}/messages`, { text: 'More.' });
		const find = async () => (await list('?details=runs')).sessions.find((session) => session.id === id);
		await expect.poll(find).toMatchObject({
			status: 'completed',
			runs: [{ status: 'completed' }, { status: 'completed' }],
		});
		const { budget } = await (await ask(`/${id}`)).json<{ budget: { spent: { tokens: number } } }>();
		const runs = v.parse(runsOf, await find()).runs;
		expect(runs[0]?.spent.tokens).toBeGreaterThan(0);
		expect(runs.reduce((sum, { spent }) => sum + spent.tokens, 0)).toBe(budget.spent.tokens);
		expect(Date.parse(runs[0]?.createdAt ?? '')).toBeGreaterThanOrEqual(Date.parse(runs[1]?.createdAt ?? ''));
	});

	test('tells the runs of a model without a known price from free ones', async () => {
		const use = (costUsd?: number): ScriptedTurn => ({
			text: 'Said.',
			usage: { inputTokens: 5, outputTokens: 2, ...(costUsd !== undefined && { costUsd }) },
		});
		play(use());
		const made = await ask('', { agent: 'scripted', model: 'scripted-unpriced', text: 'go' });
		const { id } = await made.json<{ id: string }>();
		for (const costUsd of [0, 0.25]) {
			play(use(costUsd));
			await ask(`/${id}/messages`, { text: 'More.' });
		}
		const find = async () => {
			const { sessions } = await list('?details=runs');
			const { runs } = v.parse(
				runsOf,
				sessions.find((session) => session.id === id),
			);
			return runs.map(({ spent: { usd }, unpricedTokens }) => [usd, unpricedTokens]);
		};
		await expect.poll(find).toEqual([
			[0.25, undefined],
			[0, undefined],
			[0, 7],
		]);
	});

	test('lists only the sessions of the agent, on all pages', async () => {
		const own = [await begin('1', 'planner'), await begin('2', 'planner'), await begin('3', 'planner')].reverse();
		await expect.poll(() => ids('?agent=planner')).toEqual(own);
		const seen: string[] = [];
		for (let query = '?agent=planner&limit=1&status=completed'; ; ) {
			const { sessions, cursor } = await list(query);
			seen.push(...sessions.map((session) => session.id));
			if (cursor === undefined) break;
			query = `?agent=planner&limit=1&status=completed&cursor=${cursor}`;
		}
		expect(seen).toEqual(own);
		expect(await ids('?agent=nobody')).toEqual([]);
	});

	test.each([
		['?statuss=idle', 'statuss: no such query parameter. Did you mean status?'],
		[
			'?colour=red',
			'colour: no such query parameter. Possible: agent, cursor, details, limit, owner, q, status, user.',
		],
		['?status=asleep', expect.stringContaining('status: ')],
	])('refuses %s, and names the possible values', async (query, message) => {
		const response = await ask(query);
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { message } });
	});
});

describe('GET /v1/sessions by people of one owner', () => {
	type Name = 'kim' | 'lee' | 'nameless' | 'sam' | 'server' | 'stranger';
	let ask: (name: Name, path: string, body?: unknown) => Promise<Response>;
	const own: Record<string, string> = {};
	beforeAll(async () => {
		const owner = 'people-lister';
		const { keys, bindings } = await createKeys({
			kim: { owner, user: 'kim', role: 'customer' },
			lee: { owner, user: 'lee', role: 'customer' },
			nameless: { owner, role: 'customer' },
			sam: { owner, user: 'sam', role: 'staff' },
			server: { owner },
			stranger: { owner: 'people-stranger', user: 'kim' },
		});
		ask = async (name, path, body) => {
			const headers = { authorization: `Bearer ${keys[name]}`, 'content-type': 'application/json' };
			const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
			return worker.request(`https://runlet.example.com/v1/sessions${path}`, { ...sent, headers }, bindings);
		};
		const create = async (name: Name, more: object = {}) =>
			(await (await ask(name, '', { agent: 'scripted', ...more })).json<{ id: string }>()).id;
		own.kim = await create('kim');
		own.lee = await create('server', { user: 'lee' });
		own.nobody = await create('server', { metadata: { user: 'kim' } });
		own.stranger = await create('stranger');
	});
	const whose = async (name: Name, query = '?limit=100') => {
		const { sessions } = await (await ask(name, query)).json<{ sessions: { id: string; user?: string }[] }>();
		const nameOf = (id: string) => Object.keys(own).find((one) => own[one] === id);
		return sessions.map(({ id, user }) => [nameOf(id), user]).sort();
	};

	test('shows a customer only their own sessions, even if others created them', async () => {
		await expect.poll(() => whose('kim')).toEqual([['kim', 'kim']]);
		await expect.poll(() => whose('lee')).toEqual([['lee', 'lee']]);
		expect(await whose('nameless')).toEqual([['nobody', undefined]]);
		expect(await whose('kim', '?user=kim')).toEqual([['kim', 'kim']]);
		expect(await whose('kim', '?status=idle&user=kim')).toMatchObject([['kim', 'kim']]);
		for (const query of ['?user=lee', '?user=nobody', '?user=lee&status=idle', '?user=lee&owner=people-lister']) {
			const refused = await ask('kim', query);
			expect([query, refused.status, await refused.json()]).toMatchObject([
				query,
				403,
				{ error: { code: 'forbidden', data: { field: 'user', role: 'staff' } } },
			]);
		}
		expect((await ask('nameless', '?user=kim')).status).toBe(403);
	});

	test('shows staff the sessions of all users of the owner, or of one user', async () => {
		for (const name of ['sam', 'server'] as const) {
			await expect
				.poll(() => whose(name))
				.toEqual([
					['kim', 'kim'],
					['lee', 'lee'],
					['nobody', undefined],
				]);
			expect(await whose(name, '?user=kim')).toEqual([['kim', 'kim']]);
			expect(await whose(name, '?user=lee&status=idle')).toMatchObject([['lee', 'lee']]);
			expect(await whose(name, '?user=nobody')).toEqual([]);
		}
	});
});
