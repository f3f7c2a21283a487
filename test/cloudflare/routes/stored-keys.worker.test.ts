/** Keys that the Worker stores in objects (docs/keys.md, "Many keys"). */
import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createKey, type KeyRecord } from '../../../src/cloudflare/auth/key.ts';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { StoredKeys } from '../../../src/cloudflare/objects/directory/stored-keys.ts';
import { createKeys } from '../../credentials.ts';
import worker from '../../worker.ts';

let keys: Readonly<Record<'boss' | 'admin' | 'runner', string>>;
let bindings: Record<string, unknown>;

afterEach(() => void vi.restoreAllMocks());

beforeEach(async () => {
	({ keys, bindings } = await createKeys(
		{ boss: ['keys'], admin: ['admin'], runner: ['run'] },
		{ STORED_KEYS: 'on', DAY_BUDGET_TOKENS: '1000' },
	));
});

interface Made {
	readonly id: string;
	readonly key: string;
	readonly owner: string;
}

/** Sends a request to a Worker. Another environment has another cache of keys. */
const ask = (credential: string, path: string, init: RequestInit = {}, isolate = bindings) =>
	worker.request(
		`https://runlet.example.com/v1/${path}`,
		{ ...init, headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' } },
		isolate,
	);
const post = (body: object) => ({ method: 'POST', body: JSON.stringify(body) });
const make = async (body: object = {}): Promise<Made> => {
	const response = await ask(keys.boss, 'keys', post(body));
	expect(response.status).toBe(201);
	return response.json();
};
const revoke = (id: string) => ask(keys.boss, `keys/${id}`, { method: 'DELETE' });

/** Gives the sessions the keys of this test’s Worker. */
async function storeKeysInSessions(): Promise<() => void> {
	const session = env.SESSIONS.get(env.SESSIONS.newUniqueId());
	const own = await runInDurableObject(session, (one) => readConfig(Reflect.get(one, 'env')));
	const before = Object.getOwnPropertyDescriptors(own);
	const { storedKeys, knowsKey, findDayBudget } = readConfig({ ...bindings } as never);
	Object.assign(own, { storedKeys, knowsKey, findDayBudget });
	return () => void Object.defineProperties(own, before);
}

/** Lets the cached keys expire. */
function passTime(ms: number): void {
	const at = Date.now() + ms;
	vi.spyOn(Date, 'now').mockImplementation(() => at);
}

describe('a stored key', () => {
	test('opens only the sessions of its owner, immediately after its creation', async () => {
		const [ann, ben] = [await make({ owner: 'ann' }), await make({ owner: 'ben' })];
		const created = await ask(ann.key, 'sessions', post({ agent: 'scripted' }));
		expect(created.status).toBe(201);
		const { id } = await created.json<{ id: string }>();
		expect((await ask(ann.key, `sessions/${id}`)).status).toBe(200);
		expect((await ask(ben.key, `sessions/${id}`)).status).toBe(404);
		expect((await ask((await make({ owner: 'ann' })).key, `sessions/${id}`)).status).toBe(200);
	});

	test('is shown once, and listed without its secret', async () => {
		const made = await make({ name: 'for the shop', owner: 'shop', scopes: ['run'], budget: { usd: 5 } });
		expect(made.key).toMatch(new RegExp(`^rl_${made.id}_`));
		const text = await (await ask(keys.admin, 'keys')).text();
		const { keys: listed } = JSON.parse(text);
		expect(listed).toContainEqual({
			...{ id: made.id, name: 'for the shop', owner: 'shop', role: 'admin', scopes: ['run'], budget: { usd: 5 } },
			...{ isOver: false, isStored: true },
		});
		expect(listed).toContainEqual({
			id: expect.any(String),
			owner: 'boss',
			role: 'admin',
			scopes: ['keys'],
			isOver: false,
			isStored: false,
		});
		expect(text).not.toContain(made.key.slice(-43));
		expect(text).not.toContain('hash');
	});

	test('of a person has the person’s name and the rights of the person’s role', async () => {
		const kim = await make({ owner: 'firm', user: 'kim', role: 'customer' });
		const lee = await make({ owner: 'firm', user: 'lee', role: 'staff' });
		const { keys: listed } = await (await ask(keys.admin, 'keys')).json<{ keys: object[] }>();
		expect(listed).toContainEqual(
			expect.objectContaining({ id: kim.id, owner: 'firm', user: 'kim', role: 'customer' }),
		);
		const { id, ...shown } = await (await ask(kim.key, 'sessions', post({ agent: 'scripted' }))).json<{
			id: string;
			user: string;
		}>();
		expect(shown.user).toBe('kim');
		expect((await ask(kim.key, `sessions/${id}/fork`, post({}))).status).toBe(403);
		expect((await ask(lee.key, `sessions/${id}/fork`, post({}))).status).toBe(201);
		const { id: other } = await (await ask(lee.key, 'sessions', post({ agent: 'scripted' }))).json<{ id: string }>();
		expect((await ask(kim.key, `sessions/${other}`)).status).toBe(404);
	});

	test('is refused after its revocation: in the same isolate at once, in others within a minute', async () => {
		const { key, id } = await make({ owner: 'ann' });
		const elsewhere = { ...bindings };
		for (const isolate of [bindings, elsewhere]) expect((await ask(key, 'agents', {}, isolate)).status).toBe(200);
		expect((await revoke(id)).status).toBe(204);
		const here = await ask(key, 'agents');
		expect(here.status).toBe(401);
		// The cached key is used for half a minute.
		expect((await ask(key, 'agents', {}, elsewhere)).status).toBe(200);
		passTime(59_999);
		const refused = await ask(key, 'agents', {}, elsewhere);
		expect(refused.status).toBe(401);
		const unknown = await ask((await createKey()).key, 'agents', {}, elsewhere);
		expect([refused.status, await refused.text()]).toEqual([unknown.status, await unknown.text()]);
		expect((await revoke(id)).status).toBe(404);
	});

	test('that is revoked makes its tokens invalid, and ends the owner’s budget if it was the last key', async () => {
		const { key, id } = await make({ owner: 'token-maker', budget: { tokens: 500 } });
		const created = await ask(key, 'sessions', post({ agent: 'scripted' }));
		const { id: session, token } = await created.json<{ id: string; token: string }>();
		const restore = await storeKeysInSessions();
		try {
			const readDay = async (credential: string) => {
				const state = await ask(credential, `sessions/${session}`);
				return (await state.json<{ dayBudget: { limit: object } }>()).dayBudget.limit;
			};
			expect((await ask(token, `sessions/${session}`)).status).toBe(200);
			expect(await readDay(key)).toEqual({ tokens: 500 });
			await revoke(id);
			passTime(60_000);
			expect((await ask(token, `sessions/${session}`)).status).toBe(401);
			const { key: admins } = await make({ owner: 'somebody', scopes: ['admin'] });
			expect(await readDay(admins)).toEqual({ tokens: 0 });
			const { key: another } = await make({ owner: 'token-maker' });
			passTime(60_000);
			expect(await readDay(another)).toEqual({ tokens: 1_000 });
		} finally {
			restore();
		}
	});

	test('can be created only with the scope keys, and only if STORED_KEYS is on', async () => {
		for (const credential of [keys.admin, keys.runner]) {
			expect((await ask(credential, 'keys', post({ owner: 'ann' }))).status).toBe(403);
			expect((await ask(credential, 'keys/abcdefgh1234', { method: 'DELETE' })).status).toBe(403);
		}
		const off = { ...bindings, STORED_KEYS: 'off' };
		const refused = await ask(keys.boss, 'keys', post({}), off);
		expect(await refused.text()).toContain('STORED_KEYS');
		const { key } = await make();
		expect((await ask(key, 'agents', {}, off)).status).toBe(401);
		const [, own = ''] = keys.runner.split('_');
		const inSecret = await revoke(own);
		expect(inSecret.status).toBe(409);
		expect(await inSecret.text()).toContain('npm run keys -- revoke');
	});

	test.each([
		[{ owner: 'Not an owner' }, 'owner'],
		[{ scopes: ['everything'] }, 'scopes'],
		[{ budget: { tokens: -1 } }, 'budget.tokens'],
		[{ hash: 'mine' }, 'hash'],
	])('for %j is refused with the name of the field', async (body, field) => {
		const refused = await ask(keys.boss, 'keys', post(body));
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ error: { data: { field: expect.stringContaining(field) } } });
	});
});

describe('the cache of stored keys', () => {
	/** Stored keys with counted reads and failing directories, at a time of the test. */
	const watch = () => {
		const clock = { now: 0 };
		const reads: string[] = [];
		const isDown = { now: false };
		const names = new WeakMap<object, string>();
		const directories = {
			idFromName: (name: string) => {
				const id = env.DIRECTORIES.idFromName(name);
				names.set(id, name);
				return id;
			},
			get: (id: DurableObjectId) => {
				if (isDown.now) throw new Error('It is down.');
				reads.push(names.get(id) ?? '');
				return env.DIRECTORIES.get(id);
			},
		};
		return {
			clock,
			reads,
			isDown,
			stored: new StoredKeys(
				() => directories,
				() => clock.now,
			),
		};
	};
	const readAll = async (stored: StoredKeys, ids: readonly string[]) => {
		for (const id of ids) await stored.refreshKey(id);
		return ids.map((id) => stored.find(id)?.id);
	};

	test('reads each object only once in half a minute, even for many unknown keys', async () => {
		const { clock, reads, stored } = watch();
		const guesses = await Promise.all(Array.from({ length: 300 }, createKey));
		const ids = guesses.map(({ record }) => record.id);
		expect(new Set(await readAll(stored, ids))).toEqual(new Set([undefined]));
		expect(reads.length).toBe(new Set(ids.map((id) => id[0])).size);
		clock.now = 29_999;
		await readAll(stored, ids);
		expect(reads.length).toBeLessThanOrEqual(36);
		clock.now = 30_000;
		await stored.refreshKey(ids[0] ?? '');
		expect(reads.length).toBe(new Set(ids.map((id) => id[0])).size + 1);
	});

	test('contains only the last thousand owners', async () => {
		const directories = { idFromName: env.DIRECTORIES.idFromName.bind(env.DIRECTORIES), get: () => fullRegistry };
		const stored = new StoredKeys(() => directories);
		for (let n = 0; n < 1_500; n++) await stored.refreshOwner(`owner-${n}`);
		expect([...Array(1_500).keys()].filter((n) => stored.listOfOwner(`owner-${n}`).length > 0)).toHaveLength(1_000);
	});

	test('returns a key for a minute if its object cannot be reached', async () => {
		vi.spyOn(console, 'warn').mockImplementation(() => {});
		const { clock, isDown, stored } = watch();
		const { record } = await createKey({ owner: 'ann' });
		await stored.add(record);
		expect(await readAll(stored, [record.id])).toEqual([record.id]);
		isDown.now = true;
		clock.now = 59_999;
		expect(await readAll(stored, [record.id])).toEqual([record.id]);
		clock.now = 60_000;
		await expect(stored.refreshKey(record.id)).rejects.toMatchObject({ code: 'overloaded' });
	});
});

const record: KeyRecord = { id: 'abcdefgh1234', owner: 'ann', hash: 'h'.repeat(43), scopes: ['run'] };
const entry = { name: record.id, version: '1', definition: JSON.stringify(record), createdAt: 1, updatedAt: 1 };
const fullRegistry = {
	putEntry: async () => 'stored' as const,
	getEntry: async () => entry,
	listEntries: async () => [entry],
	removeEntry: async () => true,
};
