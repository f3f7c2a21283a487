/** The directory of a large owner is split into shards. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Config, readConfig } from '../../../../src/cloudflare/config/config.ts';
import { listSessions, mergeEntries, readHeld } from '../../../../src/cloudflare/objects/directory/all.ts';
import type { Listed } from '../../../../src/cloudflare/objects/directory/api.ts';
import type { FeedbackEntry } from '../../../../src/cloudflare/objects/directory/feedback.ts';
import { listShards, nameShard } from '../../../../src/cloudflare/objects/shards.ts';
import type { ScriptedTurn } from '../../../../src/core/providers/scripted.ts';
import { createSession, readObject } from '../../../client.ts';
import { setClock } from '../../../clock.ts';
import { createKeys } from '../../../credentials.ts';
import { countWork } from '../../../rows.ts';
import { play } from '../../../script.ts';
import worker from '../../../worker.ts';

const directories = env.DIRECTORIES;
const findDirectory = (name: string) => directories.get(directories.idFromName(name));

/** The number of shards of each owner, for the routes and for the objects. */
const counts = new Map<string, number>();
let bindings: Record<string, unknown>;
let keys: Readonly<Record<'shop' | 'stall' | 'room' | 'waker' | 'root', string>>;
/** The configuration of the sessions under test. */
let ofSessions: Config;
const restored: (() => void)[] = [];

beforeAll(async () => {
	({ keys, bindings } = await createKeys({
		shop: { owner: 'sharded-shop' },
		stall: { owner: 'sharded-stall' },
		room: { owner: 'sharded-room' },
		waker: { owner: 'sharded-waker' },
		root: ['run', 'admin'],
	}));
	const configs: Config[] = [readConfig(bindings as never)];
	const readOwn = (one: object) => configs.push(readConfig(Reflect.get(one, 'env')));
	await runInDurableObject(readObject(await createSession()), readOwn);
	await runInDurableObject(findDirectory('any'), readOwn);
	ofSessions = configs[1] as Config;
	for (const config of configs) {
		const { findShardCount } = config;
		restored.push(() => void Object.assign(config, { findShardCount }));
		Object.assign(config, { findShardCount: (owner: string) => counts.get(owner) ?? 1 });
	}
});
afterEach(() => setClock());
afterAll(() => {
	for (const restore of restored) restore();
});

function ask(path: string, body?: object, { method = body === undefined ? 'GET' : 'POST', as = keys.shop } = {}) {
	const headers = { authorization: `Bearer ${as}`, 'content-type': 'application/json' };
	const sent = body === undefined ? {} : { body: JSON.stringify(body) };
	return worker.request(`https://runlet.example.com/v1/${path}`, { method, headers, ...sent }, bindings);
}

const read = async <T>(path: string, as?: string): Promise<T> => (await ask(path, undefined, { as })).json<T>();

interface SessionList {
	readonly sessions: readonly { readonly id: string; readonly owner?: string }[];
	readonly cursor?: string;
}

const listIds = async (query = '', as?: string) =>
	(await read<SessionList>(`sessions?limit=100${query}`, as)).sessions.map(({ id }) => id).sort();

async function begin(user: string | undefined, reply: ScriptedTurn = 'Done.', as?: string): Promise<string> {
	play(reply);
	const made = await ask('sessions', { agent: 'scripted', text: 'Go.', ...(user && { user }) }, { as });
	expect(made.status).toBe(201);
	return (await made.json<{ id: string }>()).id;
}

/** Finds the directories of an owner that list a session. */
async function findPlaces(owner: string, id: string): Promise<readonly string[]> {
	const names = listShards(owner, counts.get(owner) ?? 1);
	const lists = await Promise.all(names.map((name) => findDirectory(name).list({ limit: 1_000, withHidden: true })));
	return names.filter((_, index) => lists[index]?.sessions.some((session) => session.id === id));
}

test('any sequence of reports and removals gives the same pages for one directory and for five shards', async () => {
	const operation = fc.record({
		what: fc.constantFrom('touch', 'touch', 'touch', 'wait', 'rate', 'remove', 'raise'),
		session: fc.nat(7),
		at: fc.nat(20),
		bytes: fc.nat(9),
	});
	const users = [undefined, 'ada', 'ben'];
	await fc.assert(
		fc.asyncProperty(
			fc.array(operation, { minLength: 5, maxLength: 25 }),
			fc.integer({ min: 1, max: 4 }),
			async (operations, limit) => {
				const [one, five] = [`one-${crypto.randomUUID()}`, `five-${crypto.randomUUID()}`];
				let count = 1;
				const created = new Map<string, number>();
				for (const { what, session, at, bytes } of operations) {
					if (what === 'raise') count = 5;
					const id = `s${session}`;
					const user = users[session % users.length];
					const agent = session % 2 === 0 ? 'even' : 'odd';
					const shards = created.get(id) ?? count;
					created.set(id, shards);
					const entry = { id, agent, user, createdAt: 1, activeAt: at, bytes };
					const call = { callId: 'c', place: 0, kind: 'approval' as const };
					for (const name of [one, nameShard(five, shards, user ?? id)]) {
						const directory = findDirectory(name);
						if (what === 'touch') await directory.touch(entry);
						if (what === 'wait') await directory.touch({ ...entry, wait: { since: at, calls: [call] } });
						if (what === 'rate')
							await directory.putFeedback({
								session: id,
								agent,
								user,
								run: 1,
								runId: 'r',
								at,
								rating: { rating: 'up' },
							});
						if (what === 'remove') await directory.remove(id);
					}
				}
				const all = { directories, findShardCount: (owner: string) => (owner === five ? 5 : 1) };
				const pages = async (owner: string, query: object) => {
					const found: Omit<Listed, 'owner'>[][] = [];
					for (let cursor: string | undefined, n = 0; n === 0 || cursor !== undefined; n++) {
						const page = await listSessions(all, [owner], { ...query, cursor, limit });
						found.push(page.sessions.map(({ owner: _, ...session }) => session));
						({ cursor } = page);
					}
					return found;
				};
				for (const query of [{}, { agent: 'odd' }, { user: 'ada' }, { user: null }, { isWaiting: true }])
					expect(await pages(five, query)).toEqual(await pages(one, query));
				const waiting = (owner: string, user?: string) =>
					mergeEntries(all, [owner], {
						user,
						limit: 50,
						ask: (directory) => directory.listWaiting({ limit: 50, user }),
						compare: (a, b) => a.since - b.since || (a.session < b.session ? -1 : 1),
					}).then(({ entries }) => entries.map(({ session }) => session));
				const rated = (owner: string) =>
					mergeEntries<FeedbackEntry>(all, [owner], {
						ask: (directory) => directory.listFeedback({ limit: 50 }),
						compare: (a, b) => b.at - a.at || (a.session < b.session ? 1 : -1),
					}).then(({ entries }) => entries.map(({ session }) => session));
				expect(await waiting(five)).toEqual(await waiting(one));
				expect(await waiting(five, 'ben')).toEqual(await waiting(one, 'ben'));
				expect(await rated(five)).toEqual(await rated(one));
				expect(await readHeld(all, five, 'ada')).toEqual(await readHeld(all, one, 'ada'));
			},
		),
		{ numRuns: 25 },
	);
});

test('a page of a sharded owner reads a bounded number of rows, and of a user only the shards of the user', async () => {
	const owner = 'sharded-rows';
	const all = { directories, findShardCount: () => 5 };
	for (const name of listShards(owner, 5))
		await runInDurableObject(findDirectory(name), (_, { storage }) => {
			storage.sql.exec(
				`WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 2000)
				INSERT INTO session (id, agent, created_at, active_at, state, user)
				SELECT printf('%s-%04d', ?, n), 'assistant', 1, n, 0, 'ada' FROM number`,
				name.replace(' ', '-'),
			);
		});
	const countRows = async (user?: string) => {
		const work = countWork();
		expect((await listSessions(all, [owner], { limit: 50, user })).sessions).toHaveLength(50);
		const rows = await Promise.all(
			listShards(owner, 5).map((name) => {
				const directory = findDirectory(name);
				return runInDurableObject(directory, () =>
					work(directory.id.toString()).reduce((sum, { read }) => sum + read, 0),
				);
			}),
		);
		return rows;
	};
	const ofAll = await countRows();
	expect(ofAll).toHaveLength(6);
	expect(Math.max(...ofAll)).toBeLessThanOrEqual(110);
	const asked = (await countRows('ada')).filter((rows) => rows > 0);
	expect(asked).toHaveLength(listShards(owner, 5, 'ada').length);
});

test('sessions, approvals and feedback of a sharded owner are listed, filtered and removed', async () => {
	counts.set('sharded-shop', 5);
	const ids = [await begin('ada'), await begin('ben'), await begin(undefined), await begin('ada')];
	await expect.poll(() => listIds()).toEqual([...ids].sort());
	expect(await listIds('&user=ada')).toEqual([ids[0], ids[3]].sort());
	expect(await listIds('&status=completed')).toEqual([...ids].sort());
	expect(await listIds('&status=running')).toEqual([]);
	expect(await listIds('&agent=planner')).toEqual([]);
	expect(await listIds('&owner=sharded-shop', keys.root)).toEqual([...ids].sort());
	for (const [index, id] of ids.entries())
		expect(await findPlaces('sharded-shop', id)).toEqual([
			nameShard('sharded-shop', 5, ['ada', 'ben', id, 'ada'][index] ?? ''),
		]);
	const seen: string[] = [];
	for (let cursor = ''; ; ) {
		const page = await read<SessionList>(`sessions?limit=1${cursor}`);
		seen.push(...page.sessions.map(({ id }) => id));
		if (page.cursor === undefined) break;
		cursor = `&cursor=${page.cursor}`;
	}
	expect([...seen].sort()).toEqual([...ids].sort());

	const pay = { toolCalls: [{ id: 'p', name: 'pay', input: { amount: 1 } }] };
	const waits = [await begin('cara', pay), await begin('dan', pay)];
	const approvals = async (query = '') =>
		(await read<{ approvals: { sessionId: string }[] }>(`approvals${query}`)).approvals.map((one) => one.sessionId);
	await expect.poll(async () => (await approvals()).sort()).toEqual([...waits].sort());
	expect(await approvals('?user=dan')).toEqual([waits[1]]);

	for (const id of ids) {
		const { run } = await read<{ run: { id: string } }>(`sessions/${id}`);
		expect((await ask(`sessions/${id}/runs/${run.id}/feedback`, { rating: 'up' }, { method: 'PUT' })).status).toBe(200);
	}
	const feedback = async (query = '') =>
		(await read<{ feedback: { sessionId: string }[] }>(`feedback${query}`)).feedback.map((one) => one.sessionId);
	await expect.poll(async () => (await feedback()).length).toBe(4);
	expect(await feedback()).toEqual([...ids].reverse());
	expect((await feedback('?user=ada')).sort()).toEqual([ids[0], ids[3]].sort());

	const [, gone = ''] = ids;
	expect((await ask(`sessions/${gone}`, undefined, { method: 'DELETE' })).status).toBe(204);
	await expect.poll(() => listIds()).not.toContain(gone);
	expect(await feedback()).not.toContain(gone);
});

test('an owner that becomes large moves no session: it stays in its list, and leaves it when it is removed', async () => {
	const owner = 'sharded-stall';
	const as = keys.stall;
	counts.delete(owner);
	const ids = [await begin('ada', 'Done.', as), await begin(undefined, 'Done.', as)];
	counts.set(owner, 5);
	for (const user of ['ada', 'ben', undefined, undefined]) ids.push(await begin(user, 'Done.', as));
	await expect.poll(() => listIds('', as)).toEqual([...ids].sort());
	expect(await listIds('&user=ada', as)).toEqual([ids[0], ids[2]].sort());
	for (const id of ids) {
		play('Again.');
		await ask(`sessions/${id}/messages`, { text: 'Go on.' }, { as });
		expect(await findPlaces(owner, id)).toHaveLength(1);
	}
	expect(await findPlaces(owner, ids[0] ?? '')).toEqual([owner]);
	const bytes = async (query = '') =>
		(await read<{ storage: { bytes: number }[] }>(`usage${query}`, as)).storage.map((one) => one.bytes);
	const [ofOne = 0] = await bytes('?user=ben');
	const [ofAll = 0] = await bytes();
	expect(ofOne).toBeGreaterThan(0);
	expect(ofAll).toBeGreaterThan(ofOne);
	const erased = await ask('users/ada', undefined, { method: 'DELETE', as });
	expect(await erased.json()).toEqual({ user: 'ada', sessions: 2, isDone: true });
	expect(await listIds('&user=ada', as)).toEqual([]);
	for (const id of await listIds('', as)) await ask(`sessions/${id}`, undefined, { method: 'DELETE', as });
	await expect.poll(() => listIds('', as)).toEqual([]);
	expect(await bytes()).toEqual([0]);
});

test('a sharded owner is refused only if all shards together hold too much', async () => {
	const owner = 'sharded-room';
	const as = keys.room;
	counts.set(owner, 5);
	const { roomLimits } = ofSessions;
	const before = { ...roomLimits };
	const all = { directories, findShardCount: () => 5 };
	const isWithin = async (limits: object, user: string) => {
		Object.assign(roomLimits, before, limits);
		const hinted = await begin(user, 'Done.', as);
		await expect.poll(() => findPlaces(owner, hinted)).toHaveLength(1);
		play('Done.');
		const made = await ask('sessions', { agent: 'scripted', text: 'Go.', user }, { as });
		return made.status === 201 ? undefined : made.json();
	};
	try {
		for (const user of ['ada', 'ben', 'cara', 'dan', 'eve']) await begin(user, 'Done.', as);
		await expect.poll(() => listIds('', as)).toHaveLength(5);
		const { owner: bytes } = await readHeld(all, owner);
		const each = bytes / 5;
		// The share of a shard times the number of shards is above this limit, and the sum is not.
		expect(await isWithin({ owner: bytes + 2 * each }, 'ada')).toBeUndefined();
		expect(await isWithin({ user: 10 * each }, 'ada')).toBeUndefined();
		await expect.poll(() => listIds('', as)).toHaveLength(9);
		const used = (await readHeld(all, owner)).owner + each;
		expect(await isWithin({ owner: used - 1 }, 'ada')).toMatchObject({
			error: { code: 'too_large', data: { scope: 'owner', limit: used - 1, used } },
		});
		Object.assign(roomLimits, before);
		expect(await isWithin({ user: 2 * each - 1 }, 'ben')).toMatchObject({
			error: { data: { scope: 'user', used: 2 * each } },
		});
	} finally {
		Object.assign(roomLimits, before);
	}
});

test('the schedules of a sharded owner wake each session once, and are listed, cancelled and removed', async () => {
	const owner = 'sharded-waker';
	const as = keys.waker;
	const begins = '2030-03-04T06:00:00.000Z';
	setClock(begins);
	const ids: string[] = [];
	for (const count of [1, 5]) {
		counts.set(owner, count);
		for (const user of ['ada', 'ben', 'cara', undefined, undefined]) ids.push(await begin(user, 'Done.', as));
	}
	for (const session of ids) {
		const put = await ask('schedules', { session, name: 'look', text: 'Look.', every: '30m' }, { as });
		expect(put.status).toBe(201);
	}
	interface Schedules {
		readonly schedules: readonly { readonly id: string; readonly session: string; readonly last?: object }[];
		readonly cursor?: string;
	}
	const sorted = ids.map((id) => `session.${id}.look`).sort();
	const seen: string[] = [];
	for (let cursor = ''; ; ) {
		const page = await read<Schedules>(`schedules?limit=3${cursor}`, as);
		seen.push(...page.schedules.map(({ id }) => id));
		if (page.cursor === undefined) break;
		cursor = `&cursor=${page.cursor}`;
	}
	expect(seen).toEqual(sorted);
	expect((await read<Schedules>(`schedules?session=${ids[7]}`, as)).schedules).toHaveLength(1);

	const names = listShards(owner, 5);
	const countOf = (name: string) =>
		runInDurableObject(findDirectory(name), (_, { storage }) =>
			Number(storage.sql.exec('SELECT count(*) AS n FROM schedule').one().n),
		);
	expect(await countOf(owner)).toBe(5);
	play(...ids.map(() => 'Looked.'));
	setClock('2030-03-04T06:30:01.000Z');
	for (const _ of [1, 2]) for (const name of names) await runDurableObjectAlarm(findDirectory(name));
	const inputs = async (id: string) =>
		(await read<{ messages: { role: string; content: unknown }[] }>(`sessions/${id}/messages`, as)).messages
			.filter(({ role }) => role === 'user')
			.map(({ content }) => content);
	for (const id of ids) await expect.poll(() => inputs(id)).toEqual(['Go.', 'Look.']);
	for (const { last } of (await read<Schedules>('schedules?limit=50', as)).schedules)
		expect(last).toMatchObject({ outcome: 'ran' });

	for (const id of [ids[0], ids[5]]) {
		expect((await ask(`schedules/session.${id}.look`, undefined, { method: 'DELETE', as })).status).toBe(204);
		expect((await ask(`schedules/session.${id}.look`, undefined, { method: 'DELETE', as })).status).toBe(404);
	}
	for (const id of [ids[1], ids[8]]) await ask(`sessions/${id}`, undefined, { method: 'DELETE', as });
	await expect.poll(async () => (await read<Schedules>('schedules?limit=50', as)).schedules.length).toBe(6);
});
