/** With `LIST_ALL_OWNERS`, one directory lists the sessions, waiting calls and feedback of all owners. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import * as fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Config, readConfig } from '../../../../src/cloudflare/config/config.ts';
import { listSessions, mergeEntries } from '../../../../src/cloudflare/objects/directory/all.ts';
import { type DirectoryApi, type DirectoryQuery, everybody } from '../../../../src/cloudflare/objects/directory/api.ts';
import { listShards, nameShard } from '../../../../src/cloudflare/objects/shards.ts';
import type { ScriptedTurn } from '../../../../src/core/providers/scripted.ts';
import { createSession, querySession, readObject, restart } from '../../../client.ts';
import { createKeys } from '../../../credentials.ts';
import { countWork } from '../../../rows.ts';
import { play } from '../../../script.ts';
import worker from '../../../worker.ts';
import { forever } from '../../session/stage.ts';

const directories = env.DIRECTORIES;
const findDirectory = (name: string) => directories.get(directories.idFromName(name));
const down = () => {
	throw new Error('It is down.');
};

type Named = 'ann' | 'ben' | 'cara' | 'root';
let keys: Readonly<Record<Named, string>>;
let bindings: Record<string, unknown>;
/** The configurations of the routes and of the sessions under test. */
let configs: readonly [Config, Config];
/** The directories that the routes asked. */
const asked: string[] = [];

beforeAll(async () => {
	({ keys, bindings } = await createKeys(
		{ ann: ['run'], ben: ['run'], cara: ['run'], root: ['run', 'admin'] },
		{ LIST_ALL_OWNERS: 'on' },
	));
	const ofRoutes = readConfig(bindings as never);
	const id = await createSession();
	const ofSessions = await runInDurableObject(readObject(id), (one) => readConfig(Reflect.get(one, 'env')));
	configs = [ofRoutes, ofSessions];
	const idFromName = (name: string) => {
		asked.push(name);
		return directories.idFromName(name);
	};
	Object.assign(ofRoutes, { directories: { idFromName, get: (one: DurableObjectId) => directories.get(one) } });
});

const restored: (() => void)[] = [];

/** Changes the configuration of the routes and the sessions until the test ends. */
function change(more: Partial<Config>, which: readonly Config[] = configs): void {
	for (const config of which) {
		const before = Object.getOwnPropertyDescriptors(config);
		restored.push(() => void Object.defineProperties(config, before));
		Object.assign(config, more);
	}
}

const switchOn = () => change({ listsOfAll: [everybody] });
const switchOff = () => change({ listsOfAll: undefined });

/** Lets the sessions call these methods in place of the methods of the list of all owners. The result restores them. */
function replace(calls: Partial<Record<keyof DirectoryApi, () => unknown>>): () => void {
	const ofAll = directories.idFromName(everybody);
	const get = (id: DurableObjectId) => {
		const stub = directories.get(id);
		if (!id.equals(ofAll)) return stub;
		return new Proxy(stub, { get: (_, name) => Reflect.get(calls, name) ?? Reflect.get(stub, name) });
	};
	change({ directories: { idFromName: (name: string) => directories.idFromName(name), get } }, [configs[1]]);
	return restored.pop() ?? (() => {});
}

beforeEach(() => {
	vi.spyOn(console, 'warn').mockImplementation(() => {});
	switchOn();
});
afterEach(() => {
	for (const restore of restored.splice(0).reverse()) restore();
	vi.restoreAllMocks();
});

interface Asking {
	readonly method?: string;
	readonly as?: string;
	readonly key?: string;
}

function ask(path: string, body?: object, { method, as = keys.root, key }: Asking = {}) {
	const json = { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) };
	const headers = { authorization: `Bearer ${as}`, ...json };
	const sent = body === undefined ? {} : { body: JSON.stringify(body) };
	const usual = body === undefined ? 'GET' : 'POST';
	return worker.request(
		`https://runlet.example.com/v1/${path}`,
		{ method: method ?? usual, headers, ...sent },
		bindings,
	);
}

interface Shown {
	readonly id?: string;
	readonly sessionId?: string;
	readonly owner?: string;
	readonly title?: string;
}

async function readList(path: string, as = keys.root): Promise<readonly Shown[]> {
	const page = await (await ask(path, undefined, { as })).json<Record<string, readonly Shown[]>>();
	return page[path.replace(/\?.*/, '')] ?? [];
}

const listIds = async (query = '', as?: string) =>
	(await readList(`sessions?limit=100${query}`, as)).map(({ id = '' }) => id);
const isInAll = async (id: string) => (await listIds('&owner=*')).includes(id);

async function begin(as: Exclude<Named, 'root'>, more: object = {}, ...replies: ScriptedTurn[]): Promise<string> {
	play(...(replies.length === 0 ? ['Done.'] : replies));
	const made = await ask('sessions', { agent: 'scripted', text: 'Go.', ...more }, { as: keys[as] });
	expect(made.status, await made.clone().text()).toBe(201);
	return (await made.json<{ id: string }>()).id;
}

async function rate(as: Exclude<Named, 'root'>, id: string): Promise<void> {
	const { run } = await (await ask(`sessions/${id}`, undefined, { as: keys[as] })).json<{ run: { id: string } }>();
	const put = await ask(`sessions/${id}/runs/${run.id}/feedback`, { rating: 'up' }, { method: 'PUT', as: keys[as] });
	expect(put.status).toBe(200);
}

const isRated = async (id: string, query: string, as?: string) =>
	(await readList(`feedback${query}`, as)).some(({ sessionId }) => sessionId === id);

const remove = (as: Exclude<Named, 'root'>, id: string) =>
	ask(`sessions/${id}`, undefined, { method: 'DELETE', as: keys[as] });

/** Runs the alarm of a session as if the time of its outbox had come. */
const wake = async (id: string) => {
	await querySession(id, 'UPDATE outbox SET due_at = 0');
	await runDurableObjectAlarm(readObject(id));
};

/** The sessions in the directory of all owners, with those that only some lists show. */
const listStored = async (name = everybody) =>
	(await findDirectory(name).list({ limit: 1_000, withHidden: true })).sessions.map(({ id }) => id);

describe('a page of all owners asks only the list of all owners', () => {
	test('for sessions, with each filter', async () => {
		const ids = [
			await begin('ann', { user: 'zoe', text: 'Find receipts.' }),
			await begin('ben', { user: 'zoe', text: 'Find tickets.' }),
			await begin('cara', { agent: 'planner', text: 'Plan receipts.' }),
		];
		const owners = ['ann', 'ben', 'cara'];
		const cases: readonly (readonly [query: string, found: readonly number[]])[] = [
			['', [2, 1, 0]],
			['&user=zoe', [1, 0]],
			['&agent=planner', [2]],
			['&agent=scripted&user=zoe', [1, 0]],
			['&status=completed', [2, 1, 0]],
			['&status=running', []],
			['&q=receipts', [2, 0]],
			['&q=receipts&user=zoe', [0]],
		];
		for (const [query, found] of cases) {
			const list = () => readList(`sessions?limit=100&owner=*${query}`);
			const expected = found.map((index) => [ids[index], owners[index]]);
			const listOwn = async () => (await list()).filter(({ id = '' }) => ids.includes(id));
			await expect
				.poll(async () => (await listOwn()).map(({ id, owner }) => [id, owner]), { message: query })
				.toEqual(expected);
			asked.length = 0;
			await list();
			expect(asked, query).toEqual([everybody]);
		}
		expect(await listIds('', keys.ann)).toContain(ids[0]);
		expect(await listIds('', keys.ann)).not.toContain(ids[1]);
	});

	test('for waiting calls and feedback', async () => {
		const pay = { toolCalls: [{ id: 'p', name: 'pay', input: { amount: 1 } }] };
		const question = { toolCalls: [{ id: 'q', name: 'ask', input: { question: 'When?' } }] };
		const waits = [await begin('ann', { user: 'yan' }, pay), await begin('ben', {}, question)];
		const rated = [await begin('ann'), await begin('ben', { user: 'yan' })];
		await rate('ann', rated[0] ?? '');
		await rate('ben', rated[1] ?? '');
		const cases: readonly (readonly [path: string, found: readonly (readonly [id?: string, owner?: string])[]])[] = [
			[
				'approvals?owner=*',
				[
					[waits[0], 'ann'],
					[waits[1], 'ben'],
				],
			],
			['approvals?owner=*&kind=question', [[waits[1], 'ben']]],
			['approvals?owner=*&user=yan', [[waits[0], 'ann']]],
			[
				'feedback?owner=*',
				[
					[rated[1], 'ben'],
					[rated[0], 'ann'],
				],
			],
			['feedback?owner=*&user=yan', [[rated[1], 'ben']]],
		];
		for (const [path, found] of cases) {
			const list = async () => (await readList(path)).map(({ sessionId, owner }) => [sessionId, owner]);
			await expect.poll(list, { message: path }).toEqual(found);
			asked.length = 0;
			await list();
			expect(asked, path).toEqual([everybody]);
		}
		expect((await readList('approvals', keys.ann))[0]).not.toHaveProperty('owner');
		expect((await readList('feedback', keys.ann))[0]).not.toHaveProperty('owner');
	});
});

test('the list of all owners gives the same pages as the merged lists of the owners, after any reports and removals', async () => {
	const operation = fc.record({
		what: fc.constantFrom('touch', 'touch', 'wait', 'rate', 'remove'),
		session: fc.nat(7),
		at: fc.nat(20),
	});
	await fc.assert(
		fc.asyncProperty(
			fc.array(operation, { minLength: 5, maxLength: 25 }),
			fc.integer({ min: 1, max: 4 }),
			fc.constantFrom(1, 5),
			async (operations, limit, shards) => {
				const run = crypto.randomUUID();
				const owners = [`a-${run}`, `b-${run}`];
				const all = `all-${run}`;
				for (const { what, session, at } of operations) {
					const id = `s${session}`;
					const owner = owners[session % 2] ?? '';
					const user = session % 3 === 0 ? 'ada' : undefined;
					const about = { agent: session < 4 ? 'low' : 'high', user };
					const entry = { id, ...about, title: `Find ${session % 2 ? 'odd' : 'even'}`, createdAt: 1, activeAt: at };
					const call = { callId: 'c', place: 0, kind: 'approval' as const };
					const change = { session: id, ...about, run: 1, runId: 'r', at, rating: { rating: 'up' as const } };
					for (const name of [owner, nameShard(all, shards, user ?? id)]) {
						const directory = findDirectory(name);
						const more = name === owner ? {} : { owner };
						if (what === 'touch') await directory.touch({ ...entry, ...more });
						if (what === 'wait') await directory.touch({ ...entry, ...more, wait: { since: at, calls: [call] } });
						if (what === 'rate') await directory.putFeedback({ ...change, ...more });
						if (what === 'remove') await directory.remove(id);
					}
				}
				const places = { directories, findShardCount: (owner: string) => (owner === all ? shards : 1) };
				const readPages = async (names: readonly string[], query: Partial<DirectoryQuery>) => {
					const found: object[][] = [];
					for (let cursor: string | undefined, n = 0; n === 0 || cursor !== undefined; n++) {
						const page = await listSessions(places, names, { ...query, cursor, limit });
						found.push(page.sessions);
						({ cursor } = page);
					}
					return found;
				};
				for (const query of [{}, { agent: 'low' }, { user: 'ada' }, { user: null }, { isWaiting: true }])
					expect(await readPages([all], query)).toEqual(await readPages(owners, query));
				// Places in a search depend on the order in which an index got its sessions.
				const search = async (names: readonly string[]) =>
					(await readPages(names, { words: 'odd' }))
						.flat()
						.map((one) => Reflect.get(one, 'id'))
						.sort();
				expect(await search([all])).toEqual(await search(owners));
				const merge = async (names: readonly string[]) => [
					await mergeEntries(places, names, {
						ask: (one) => one.listWaiting({ limit: 50 }),
						compare: (a, b) => a.since - b.since || (a.session < b.session ? -1 : 1),
					}),
					await mergeEntries(places, names, {
						ask: (one) => one.listFeedback({ limit: 50 }),
						compare: (a, b) => b.at - a.at || (a.session < b.session ? 1 : -1),
					}),
				];
				expect(await merge([all])).toEqual(await merge(owners));
			},
		),
		{ numRuns: 25 },
	);
});

describe.each([
	['fails', down],
	['hangs', forever],
])('if the list of all owners %s', (_, broken) => {
	test('a run ends and its owner gets its reports at once, and the list gets them later', async () => {
		const repair = replace({ touch: broken });
		const id = await begin('ann');
		await expect.poll(() => listIds('', keys.ann)).toContain(id);
		await rate('ann', id);
		const failures = new Set<number>();
		const toOwner = "SELECT failed FROM outbox WHERE id LIKE 'feedback %' AND id NOT LIKE '%*'";
		const isRatedNow = async () => {
			for (const { failed } of await querySession<{ failed: number }>(id, toOwner)) failures.add(failed);
			return isRated(id, '', keys.ann);
		};
		await expect.poll(isRatedNow).toBe(true);
		expect([...failures].filter((times) => times > 0)).toEqual([]);
		expect(await isInAll(id)).toBe(false);
		repair();
		await expect.poll(() => wake(id).then(() => isInAll(id)), { timeout: 30_000 }).toBe(true);
		expect(await querySession(id, 'SELECT id FROM outbox')).toEqual([]);
	});

	test('a session that crashes, too, is in both lists after its alarm', async () => {
		const repair = replace({ touch: broken });
		const id = await begin('ann');
		await expect.poll(() => listIds('', keys.ann)).toContain(id);
		await restart(id);
		repair();
		await expect.poll(() => wake(id).then(() => isInAll(id)), { timeout: 30_000 }).toBe(true);
	});

	test('a removed session leaves both lists, and its earlier reports do not list it again', async () => {
		const id = await begin('ann');
		await expect.poll(() => isInAll(id)).toBe(true);
		const repair = replace({ touch: broken, remove: broken });
		await ask(`sessions/${id}`, { title: 'Later.' }, { method: 'PATCH', as: keys.ann });
		expect((await remove('ann', id)).status).toBe(204);
		await expect.poll(() => listIds('', keys.ann)).not.toContain(id);
		await restart(id);
		repair();
		await expect.poll(() => wake(id).then(() => isInAll(id)), { timeout: 30_000 }).toBe(false);
		await wake(id);
		expect(await listStored()).not.toContain(id);
	});

	test('feedback reaches the owner at once, and the list later', async () => {
		const id = await begin('ben');
		await expect.poll(() => isInAll(id)).toBe(true);
		const repair = replace({ putFeedback: broken });
		await rate('ben', id);
		await expect.poll(() => isRated(id, '', keys.ben)).toBe(true);
		expect(await isRated(id, '?owner=*')).toBe(false);
		await restart(id);
		repair();
		await expect.poll(() => wake(id).then(() => isRated(id, '?owner=*')), { timeout: 30_000 }).toBe(true);
	});
});

test('a session that is removed and created again while the list of all owners fails is in the list in the end', async () => {
	const key = crypto.randomUUID();
	const create = async () => {
		play('Done.');
		const made = await ask('sessions', { agent: 'scripted', text: 'Go.' }, { as: keys.ben, key });
		return (await made.json<{ id: string }>()).id;
	};
	const repair = replace({ touch: down, remove: down });
	const id = await create();
	await remove('ben', id);
	expect(await create()).toBe(id);
	repair();
	await expect.poll(() => wake(id).then(() => isInAll(id)), { timeout: 30_000 }).toBe(true);
	await wake(id);
	expect(await isInAll(id)).toBe(true);
});

test('a report that a crash lost is repeated, even if a message comes before the alarm', async () => {
	const id = await begin('ann');
	await expect.poll(() => isInAll(id)).toBe(true);
	await runInDurableObject(readObject(id), (_, { storage }) => void storage.sql.exec('UPDATE run SET listed_at = 1'));
	await restart(id);
	const repair = replace({ touch: forever });
	const send = () => ask(`sessions/${id}/messages`, { text: 'Go on.' }, { as: keys.ann });
	const activity = async (name: string) =>
		(await findDirectory(name).list({ limit: 1_000 })).sessions.find((one) => one.id === id)?.activeAt;
	const before = await activity(everybody);
	play(async () => {
		// The run ends after the report to the owner.
		await expect.poll(() => activity('ann')).not.toBe(before);
		return 'Again.';
	}, 'And again.');
	expect((await send()).status).toBe(200);
	expect(await activity(everybody)).toBe(before);
	await restart(id);
	repair();
	expect((await send()).status).toBe(200);
	// The alarm of an instance that began a run repeats no report.
	await runDurableObjectAlarm(readObject(id));
	expect(await activity(everybody)).toBe(await activity('ann'));
});

test('a session from before the switch joins the list of all owners when it is used, and leaves it when it is removed', async () => {
	switchOff();
	const id = await begin('cara');
	await expect.poll(() => listIds('', keys.cara)).toContain(id);
	expect(await listStored()).not.toContain(id);
	switchOn();
	await restart(id);
	await rate('cara', id);
	await expect.poll(() => isInAll(id)).toBe(true);
	await expect.poll(() => isRated(id, '?owner=*')).toBe(true);
	switchOff();
	await remove('cara', id);
	await expect.poll(() => listStored()).not.toContain(id);
	const { entries } = await findDirectory(everybody).listFeedback({ limit: 100 });
	expect(entries.map(({ session }) => session)).not.toContain(id);
});

test('reruns stay hidden, and the list of all owners does not have child sessions', async () => {
	const id = await begin('ann');
	const { run } = await (await ask(`sessions/${id}`)).json<{ run: { id: string } }>();
	play('Again.');
	const again = await ask(`sessions/${id}/rerun`, { run: run.id }, { as: keys.ann });
	const { id: rerun } = await again.json<{ id: string }>();
	const boss = await begin(
		'ann',
		{ agent: 'boss' },
		{ toolCalls: [{ id: 'g', name: 'guarded', input: { task: 'Pay.' } }] },
		'Paid.',
		'All paid.',
	);
	await expect.poll(() => listStored()).toEqual(expect.arrayContaining([rerun, boss]));
	const shown = await readList('sessions?limit=100&owner=*');
	expect(shown.map((one) => one.id)).not.toContain(rerun);
	expect(shown.filter((one) => Reflect.get(one, 'agent') === 'guarded')).toEqual([]);
});

test('the list of all owners can have shards, and a session stays in the place that it had', async () => {
	const before = await begin('ann', { user: 'xia' });
	await expect.poll(() => isInAll(before)).toBe(true);
	change({ findShardCount: (owner) => (owner === everybody ? 5 : 1) });
	const after = await begin('ben', { user: 'xia' });
	await restart(before);
	play('Again.');
	await ask(`sessions/${before}/messages`, { text: 'Go on.' }, { as: keys.ann });
	await expect.poll(async () => (await listIds('&owner=*&user=xia')).sort()).toEqual([before, after].sort());
	const shard = nameShard(everybody, 5, 'xia');
	expect(await listStored(shard)).toEqual([after]);
	expect(await listStored()).not.toContain(after);
	asked.length = 0;
	await listIds('&owner=*');
	expect(asked).toEqual(listShards(everybody, 5));
	for (const [name, id] of [
		['ann', before],
		['ben', after],
	] as const)
		await remove(name, id);
	await expect.poll(() => listIds('&owner=*&user=xia')).toEqual([]);
});

test('owners of other jurisdictions keep their sessions to themselves, and a page of all owners asks them, too', async () => {
	change({ listsOfAll: [everybody, 'cara'] });
	const [anns, caras] = [await begin('ann'), await begin('cara')];
	await expect.poll(() => listIds('&owner=*')).toEqual(expect.arrayContaining([anns, caras]));
	expect(await listStored()).not.toContain(caras);
	asked.length = 0;
	const shown = await readList('sessions?limit=100&owner=*');
	expect(asked).toEqual([everybody, 'cara']);
	expect(shown.find(({ id }) => id === caras)).toMatchObject({ owner: 'cara' });
});

test('the list of all owners writes as many rows as the list of the owner, and sums up no bytes', async () => {
	const first = await begin('ann');
	await expect.poll(() => isInAll(first)).toBe(true);
	const work = countWork();
	const readWork = (name: string) => {
		const directory = findDirectory(name);
		return runInDurableObject(directory, () => work(directory.id.toString()));
	};
	const expectSame = async (step: string) => {
		const [own, ofAll] = [await readWork('ann'), await readWork(everybody)];
		const count = (done: typeof own) => done.reduce((sum, { rows }) => sum + rows, 0);
		expect(count(ofAll), step).toBe(count(own));
		expect(count(ofAll), step).toBeGreaterThan(0);
		expect(ofAll.filter(({ what }) => what.includes('SUM(bytes)'))).toEqual([]);
	};
	const id = await begin('ann', {}, { toolCalls: [{ id: 'p', name: 'pay', input: { amount: 1 } }] });
	const isWaiting = async (query: string, as?: string) =>
		(await readList(`approvals${query}`, as)).some(({ sessionId }) => sessionId === id);
	await expect.poll(async () => (await isWaiting('?owner=*')) && (await isWaiting('', keys.ann))).toBe(true);
	await expectSame('waits');
	play('Paid.');
	await ask(`sessions/${id}/tool-results`, [{ id: 'p', approve: true }], { as: keys.ann });
	await expect.poll(async () => (await isWaiting('?owner=*')) || (await isWaiting('', keys.ann))).toBe(false);
	await expectSame('goes on');
	await remove('ann', id);
	await expect.poll(() => isInAll(id)).toBe(false);
	await expectSame('leaves');
});

describe('without LIST_ALL_OWNERS', () => {
	beforeEach(switchOff);

	test('a page of all owners merges their lists, and nothing is written to the list of all owners', async () => {
		const before = await listStored();
		const ids = [await begin('ann'), await begin('ben')];
		await expect.poll(() => listIds('&owner=*')).toEqual(expect.arrayContaining(ids));
		asked.length = 0;
		await listIds('&owner=*');
		expect(asked).toEqual(expect.arrayContaining([everybody, 'ann', 'ben', 'cara']));
		expect(await listStored()).toEqual(before);
	});

	test('a page of more than 100 lists is refused, and the error names the variable', async () => {
		change({ findShardCount: (owner) => (owner === 'ann' || owner === 'ben' ? 64 : 1) }, [configs[0]]);
		for (const path of ['sessions', 'approvals', 'feedback']) {
			asked.length = 0;
			const refused = await ask(`${path}?owner=*`);
			expect(refused.status).toBe(400);
			expect(await refused.json()).toMatchObject({
				error: { data: { field: 'owner' }, message: expect.stringContaining('LIST_ALL_OWNERS') },
			});
			expect(asked).toEqual([everybody]);
		}
	});
});
