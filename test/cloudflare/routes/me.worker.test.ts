/** `GET /v1/me` shows every caller who they are and what they may do (docs/keys.md, "Who one is"). */
import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeKey } from '../../../src/cloudflare/auth/key.ts';
import { rightNames } from '../../../src/cloudflare/auth/rights.ts';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { createKeys } from '../../credentials.ts';
import worker, { runtime } from '../../worker.ts';

let keys: Readonly<Record<'ann' | 'sam' | 'carl' | 'operator' | 'bob', string>>;
let bindings: Record<string, unknown>;

beforeAll(async () => {
	({ keys, bindings } = await createKeys({
		ann: { owner: 'shop', user: 'ann', role: 'admin' },
		sam: { owner: 'shop', user: 'sam', role: 'staff' },
		carl: { owner: 'shop', user: 'carl', role: 'customer' },
		operator: ['admin'],
		bob: ['run'],
	}));
});

const ask = (credential: string, path = '/v1/me', method = 'GET', body?: object) =>
	worker.request(
		`https://runlet.example.com${path}`,
		{
			method,
			headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
			...(body && { body: JSON.stringify(body) }),
		},
		bindings,
	);

interface Shown {
	readonly rights: readonly string[];
}

const read = async (credential: string): Promise<Shown> => (await ask(credential)).json();

async function createSession(more: object = {}): Promise<{ readonly id: string; readonly token: string }> {
	return (await ask(keys.ann, '/v1/sessions', 'POST', { agent: 'scripted', user: 'carl', ...more })).json();
}

const makeToken = async (id: string, scopes: readonly string[]): Promise<{ token: string; tokenId: string }> =>
	(await ask(keys.ann, `/v1/sessions/${id}/token`, 'POST', { scopes })).json();

test('a key is shown with its owner, its user and its role, and with the rights of the role', async () => {
	const ann = await read(keys.ann);
	expect(ann).toMatchObject({ kind: 'key', owner: 'shop', user: 'ann', role: 'admin', scopes: ['run'] });
	expect(ann.rights).toEqual(rightNames);
	const sam = await read(keys.sam);
	expect(sam.rights).toContain('seeInbox');
	expect(sam.rights).not.toContain('setUp');
	const carl = await read(keys.carl);
	expect(carl.rights).toEqual(['seeAgents', 'createSession', 'listSessions', 'readSession', 'sendMessage']);
});

test('a key without the scope run has only the rights that each key has', async () => {
	expect(await read(keys.operator)).toMatchObject({ scopes: ['admin'], rights: ['seeAgents', 'seeSkills'] });
});

test('the answer has no secret, and is not stored by caches', async () => {
	const response = await ask(keys.bob);
	expect(response.headers.get('cache-control')).toBe('no-store');
	const text = await response.text();
	expect(text).not.toContain(keys.bob);
	expect(Object.keys(JSON.parse(text)).sort()).toEqual(['id', 'kind', 'owner', 'rights', 'role', 'scopes']);
});

test('this machine is shown as itself', async () => {
	const response = await worker.request('http://127.0.0.1/v1/me', {}, { ...env, LOCAL: 'true', API_KEYS: '' });
	expect(await response.json()).toMatchObject({ kind: 'local', owner: 'local', role: 'admin', rights: rightNames });
});

test('an account is shown with the role that the product gives', async () => {
	const accounts = createApp({ ...runtime, authenticate: () => ({ owner: 'shop', user: 'kim', role: 'staff' }) });
	const own = { ...env, LOCAL: 'false', API_KEYS: '' };
	const response = await accounts.request('https://runlet.example.com/v1/me', {}, own);
	expect(await response.json()).toMatchObject({ kind: 'account', id: 'kim', owner: 'shop', role: 'staff' });
});

describe('a session token', () => {
	test('is shown with its session, its holder, its scopes and its end', async () => {
		const { id } = await createSession();
		const { token, tokenId } = await makeToken(id, ['read']);
		const me = await read(token);
		expect(me).toMatchObject({ kind: 'token', id: tokenId, owner: 'shop', user: 'carl', session: id });
		expect(me).toMatchObject({ scopes: ['read'], rights: ['readSession'], expiresAt: expect.stringMatching(/Z$/) });
		expect(me).not.toHaveProperty('role');
	});

	test('has the rights of each of its scopes', async () => {
		const { id, token } = await createSession();
		expect((await read(token)).rights).toEqual(['readSession', 'sendMessage']);
		expect((await read((await makeToken(id, ['approve'])).token)).rights).toEqual(['decide']);
	});

	test('is refused when it is revoked, forged, or its session is gone', async () => {
		const { id } = await createSession();
		const { token, tokenId } = await makeToken(id, ['read']);
		const other = await makeToken(id, ['read']);
		expect((await ask(`${token.slice(0, -1)}${token.endsWith('A') ? 'E' : 'A'}`)).status).toBe(401);
		await ask(keys.ann, `/v1/sessions/${id}/token/${tokenId}`, 'DELETE');
		expect((await ask(token)).status).toBe(401);
		await ask(keys.ann, `/v1/sessions/${id}`, 'DELETE');
		expect((await ask(other.token)).status).toBe(404);
	});
});

test('a stranger and an unknown key learn nothing', async () => {
	expect((await ask(makeKey().key)).status).toBe(401);
	const response = await worker.request('https://runlet.example.com/v1/me', {}, bindings);
	expect(response.status).toBe(401);
});
