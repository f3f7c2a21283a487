/** Until its end a rotated key works beside the new one. */
import { beforeEach, expect, test, vi } from 'vitest';
import { isOver } from '../../../src/cloudflare/auth/key.ts';
import { findConfigProblems, readConfig } from '../../../src/cloudflare/config/config.ts';
import { createKeys } from '../../credentials.ts';
import worker from '../../worker.ts';

const hour = 3_600_000;
const at = (ms: number) => new Date(Date.now() + ms).toISOString().replace(/\.\d+Z$/, 'Z');

let keys: Readonly<Record<'old' | 'next' | 'admin', string>>;
let records: { id: string; owner: string; budget?: { tokens: number }; expiresAt?: string }[];
let known: Record<string, unknown>;

beforeEach(async () => {
	const made = await createKeys({ old: ['run'], next: ['run'], admin: ['admin'] });
	keys = made.keys;
	known = made.bindings;
	records = JSON.parse(String(known.API_KEYS));
	for (const record of records) if (record.owner !== 'admin') record.owner = 'shop';
});

const ask = (expiresAt: string, credential: string, path = '/v1/sessions', init: RequestInit = {}) =>
	worker.request(
		`https://runlet.example.com${path}`,
		{ ...init, headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' } },
		bindingsWith(expiresAt),
	);

const bindingsWith = (expiresAt: string) => {
	const [first, ...rest] = records;
	return { ...known, API_KEYS: JSON.stringify([{ ...first, budget: { tokens: 5 }, expiresAt }, ...rest]) };
};

test('the old and the new key open the same sessions until the old key expires, and its refusal names the reason', async () => {
	const made = await ask(at(hour), keys.old, '/v1/sessions', { method: 'POST', body: '{"agent":"scripted"}' });
	const { id, token } = await made.json<{ id: string; token: string }>();
	for (const credential of [keys.old, keys.next, token])
		expect((await ask(at(hour), credential, `/v1/sessions/${id}`)).status).toBe(200);
	expect((await ask(at(-1_000), keys.next, `/v1/sessions/${id}`)).status).toBe(200);
	const refused = await ask(at(-1_000), keys.old, `/v1/sessions/${id}`);
	expect(refused.status).toBe(401);
	const { error } = await refused.json<{ error: { code: string; message: string } }>();
	expect(error).toMatchObject({ code: 'auth', message: expect.stringMatching(/this key ended on 20.*Use that one/) });
});

test('only the holder of a key learns that the key expired', async () => {
	const [, id] = keys.old.split('_');
	const guess = await ask(at(-1_000), `rl_${id}_${'A'.repeat(43)}`);
	expect(await guess.text()).toContain('not known, or was revoked');
});

test('the daily cap of a key expires with the key, and an owner whose last key expired cannot spend', async () => {
	const [first] = records;
	const read = (expiresAt: string) => readConfig(bindingsWith(expiresAt) as never);
	expect(read(at(hour)).findDayBudget('shop').tokens).toBe(5);
	expect(read(at(-1_000)).findDayBudget('shop').tokens).toBeUndefined();
	expect(read(at(-1_000)).knowsKey(first?.id ?? '')).toBe(false);
	const alone = JSON.stringify([{ ...first, expiresAt: at(-1_000) }]);
	const last = readConfig({ ...known, API_KEYS: alone } as never);
	expect(last.findDayBudget('shop')).toEqual({ tokens: 0 });
	// A Worker whose keys have all expired answers nobody, not even this machine.
	expect(last.keys).toHaveLength(1);
	const response = await worker.request('http://127.0.0.1/v1/agents', {}, { ...known, LOCAL: 'true', API_KEYS: alone });
	expect(response.status).toBe(401);
});

test('a key expires without a new deployment', () => {
	vi.useFakeTimers({ toFake: ['Date'] });
	try {
		const read = readConfig(bindingsWith(at(hour)) as never);
		const id = records[0]?.id ?? '';
		expect(read.knowsKey(id)).toBe(true);
		vi.setSystemTime(Date.now() + hour + 1_000);
		expect(read.knowsKey(id)).toBe(false);
		expect(isOver({ expiresAt: at(0) })).toBe(true);
		expect(isOver({})).toBe(false);
	} finally {
		vi.useRealTimers();
	}
});

test('if a key has an invalid expiry, every caller gets 503, and only the operator sees the reason', async () => {
	const response = await ask('tomorrow', keys.next);
	expect(response.status).toBe(503);
	expect(await response.text()).not.toMatch(/API_KEYS|expiresAt/);
	expect(findConfigProblems(bindingsWith('tomorrow') as never)).toMatchObject([
		{ where: 'API_KEYS', message: expect.stringContaining('0.expiresAt') },
	]);
});

test('an admin key lists the keys with their expiry and without secrets', async () => {
	const end = at(hour);
	const response = await ask(end, keys.admin, '/v1/keys');
	const text = await response.text();
	expect(JSON.parse(text).keys).toEqual(
		records.map(({ id, owner }, index) => ({
			id,
			owner,
			role: 'admin',
			scopes: [owner === 'admin' ? 'admin' : 'run'],
			isOver: false,
			isStored: false,
			...(index === 0 && { expiresAt: end, budget: { tokens: 5 } }),
		})),
	);
	expect(text).not.toMatch(/hash|rl_/);
	expect((await ask(end, keys.next, '/v1/keys')).status).toBe(403);
});
