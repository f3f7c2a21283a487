import { env } from 'cloudflare:test';
import { beforeAll, expect, test } from 'vitest';
import { hashKey, type KeyRecord, makeKey } from '../../../src/cloudflare/auth/key.ts';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import worker from '../../worker.ts';

/** Requests to a Worker with three keys: two owners, and a key that only writes skills. */
let bindings: Record<string, unknown>;
const keys: Record<'alice' | 'bob' | 'admin', string> = { alice: '', bob: '', admin: '' };

beforeAll(async () => {
	const records: KeyRecord[] = [];
	for (const name of ['alice', 'bob', 'admin'] as const) {
		const { key, id } = makeKey();
		keys[name] = key;
		const scopes = [name === 'admin' ? ('admin' as const) : ('run' as const)];
		records.push({ id, owner: name, hash: await hashKey(key), scopes });
	}
	bindings = {
		...env,
		LOCAL: 'false',
		RATE_LIMITER: undefined,
		API_KEYS: JSON.stringify(records),
		CORS_ORIGINS: 'https://app.example.com',
	};
});

const ask = (credential: string | undefined, path: string, method = 'GET', body?: unknown, more = {}) =>
	worker.request(
		`https://runlet.example.com${path}`,
		{
			method,
			headers: {
				...(credential !== undefined && { authorization: `Bearer ${credential}` }),
				...(body !== undefined && { 'content-type': 'application/json' }),
				...more,
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
		},
		bindings,
	);
const create = async (key: string) =>
	(await ask(key, '/v1/sessions', 'POST', { agent: 'scripted' })).json<{ id: string; token: string }>();

test('a request for sessions needs a valid credential, and the health check needs none', async () => {
	const wrong = [undefined, 'x', 'rl_x', makeKey().key, `${keys.alice.slice(0, -2)}aa`, keys.alice.toUpperCase()];
	for (const credential of wrong) {
		const response = await ask(credential, '/v1/sessions');
		expect(response.status).toBe(401);
		expect(await response.json()).toMatchObject({ error: { code: 'auth', data: { field: 'Authorization' } } });
	}
	expect((await ask(undefined, '/healthz')).status).toBe(200);
	expect((await ask(keys.alice, '/v1/sessions')).status).toBe(200);
});

test.each(['x-api-key', 'api-key', 'X-API-Key'])(
	'a key or a token can be sent in the header %s on every route, but not beside another key',
	async (name) => {
		const { id, token } = await create(keys.alice);
		for (const path of ['/v1/sessions', '/v1/agents', '/v1/models', `/v1/sessions/${id}`]) {
			expect((await ask(undefined, path, 'GET', undefined, { [name]: keys.alice })).status, path).toBe(200);
			expect((await ask(undefined, path, 'GET', undefined, { [name]: makeKey().key })).status, path).toBe(401);
		}
		const path = `/v1/sessions/${id}`;
		expect((await ask(undefined, path, 'GET', undefined, { [name]: token })).status).toBe(200);
		expect((await ask(undefined, path, 'GET', undefined, { [name]: keys.bob })).status).toBe(404);
		expect((await ask(keys.bob, path, 'GET', undefined, { [name]: 'sk-of-a-gateway' })).status).toBe(404);
		expect((await ask(keys.alice, path, 'GET', undefined, { [name]: keys.alice })).status).toBe(200);
		const both = await ask(keys.bob, path, 'GET', undefined, { [name]: keys.alice });
		expect(both.status).toBe(401);
		expect(await both.json()).toMatchObject({ error: { data: { field: name.toLowerCase() } } });
	},
);

test('every answer has its own x-request-id, including refusals and streams', async () => {
	const stream = { agent: 'skilled', text: 'Hi' };
	const answers = await Promise.all([
		ask(keys.alice, '/v1/sessions'),
		ask(undefined, '/v1/sessions'),
		ask(keys.alice, '/nothing'),
		ask(keys.alice, '/v1/sessions', 'POST', stream, { accept: 'text/event-stream' }),
		ask(keys.alice, '/v1/chat/completions', 'POST', { model: 'skilled', messages: [{ role: 'user', content: 'Hi' }] }),
		ask(keys.alice, '/v1/chat/completions', 'POST', { model: 'nobody', messages: [] }),
	]);
	const ids = answers.map(({ headers }) => headers.get('x-request-id'));
	for (const id of ids) expect(id).toMatch(/^req_[0-9a-f-]{36}(_[0-9a-f]{64})?$/);
	expect(new Set(ids).size).toBe(ids.length);
	await Promise.all(answers.map((answer) => answer.text()));
});

test('a session is found only by its owner', async () => {
	const { id } = await create(keys.alice);
	const unknown = await ask(keys.bob, `/v1/sessions/${'0'.repeat(64)}`);
	const foreign = await ask(keys.bob, `/v1/sessions/${id}`);
	expect([unknown.status, foreign.status]).toEqual([404, 404]);
	expect(await foreign.text()).toBe(await unknown.text());
	expect((await ask(keys.alice, `/v1/sessions/${id}`)).status).toBe(200);
	const listed = async (key: string) =>
		(await (await ask(key, '/v1/sessions')).json<{ sessions: { id: string }[] }>()).sessions.map((one) => one.id);
	expect(await listed(keys.alice)).toContain(id);
	expect(await listed(keys.bob)).not.toContain(id);
});

test('a token opens only its session', async () => {
	const { id, token } = await create(keys.alice);
	const other = await create(keys.alice);
	expect((await ask(token, `/v1/sessions/${id}`)).status).toBe(200);
	const asynchronous = { prefer: 'respond-async' };
	expect((await ask(token, `/v1/sessions/${id}/messages`, 'POST', { text: 'Hello' }, asynchronous)).status).toBe(202);
	expect((await ask(token, `/v1/sessions/${other.id}`)).status).toBe(404);
	const refused = [
		await ask(token, '/v1/sessions'),
		await ask(token, '/v1/sessions', 'POST', { agent: 'scripted' }),
		await ask(token, '/v1/agents'),
		await ask(token, '/v1/skills'),
		await ask(token, `/v1/sessions/${id}`, 'PATCH', { budget: { tokens: 1e9 } }),
		await ask(token, `/v1/sessions/${id}`, 'DELETE'),
		await ask(token, `/v1/sessions/${id}/token`, 'POST', {}),
	];
	expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 403));
	expect((await ask(keys.alice, `/v1/sessions/${id}`)).status).toBe(200);
});

test('a key makes more tokens for its session, with the requested lifetime', async () => {
	const { id } = await create(keys.alice);
	const response = await ask(keys.alice, `/v1/sessions/${id}/token`, 'POST', { expiresInSeconds: 60 });
	expect((await ask(keys.alice, `/v1/sessions/${id}/token`, 'POST')).status).toBe(201);
	const { token, tokenExpiresAt } = await response.json<{ token: string; tokenExpiresAt: string }>();
	expect(response.status).toBe(201);
	expect(Math.abs(Date.parse(tokenExpiresAt) - Date.now() - 60_000)).toBeLessThan(30_000);
	expect((await ask(token, `/v1/sessions/${id}`)).status).toBe(200);
	expect((await ask(keys.bob, `/v1/sessions/${id}/token`, 'POST', {})).status).toBe(404);
	for (const expiresInSeconds of [0, 59, 1.5, 2_592_001, '60'])
		expect((await ask(keys.alice, `/v1/sessions/${id}/token`, 'POST', { expiresInSeconds })).status).toBe(400);
});

test('a key can do only what its scopes allow', async () => {
	const put = (key: string) => ask(key, '/v1/skills/x', 'DELETE');
	expect((await put(keys.alice)).status).toBe(403);
	expect((await put(keys.admin)).status).toBe(404);
	expect((await ask(keys.admin, '/v1/sessions', 'POST', { agent: 'scripted' })).status).toBe(403);
	expect((await ask(keys.admin, '/v1/skills')).status).toBe(200);
});

test('the same Idempotency-Key of two owners makes two sessions', async () => {
	const once = { 'idempotency-key': 'the-same' };
	const made = async (key: string) =>
		(await ask(key, '/v1/sessions', 'POST', { agent: 'scripted' }, once)).json<{ id: string }>();
	const [alice, again, bob] = [await made(keys.alice), await made(keys.alice), await made(keys.bob)];
	expect(again).toEqual(alice);
	expect(bob.id).not.toBe(alice.id);
});

test('an owner’s daily budget is the lowest budget of its keys, and an owner without a key cannot spend', async () => {
	const { key, id } = makeKey();
	const record = { id, hash: await hashKey(key), budget: { tokens: 1 } };
	const another = { ...record, id: 'another1', owner: id, budget: { tokens: 5, usd: 2 } };
	const loose = { id: 'loosekey', owner: 'loose', hash: record.hash, budget: { tokens: 7 } };
	// The session’s object has the test’s environment, so this reads the configuration itself.
	const { findDayBudget, knowsKey } = readConfig({
		...env,
		DAY_BUDGET_USD: '9',
		API_KEYS: JSON.stringify([record, another, loose]),
	});
	expect([id, 'another1', 'revoked', 'local', ''].map(knowsKey)).toEqual([true, true, false, false, false]);
	expect([id, 'loose', 'webhooks', 'revoked'].map(findDayBudget)).toEqual([
		{ tokens: 1, usd: 2 },
		{ tokens: 7, usd: 9 },
		{ usd: 9 },
		{ tokens: 0 },
	]);
});

test('a page of another host can call only if its origin is allowed', async () => {
	const preflight = (origin: string) =>
		ask(undefined, '/v1/sessions', 'OPTIONS', undefined, {
			origin,
			'access-control-request-method': 'POST',
			'access-control-request-headers': 'authorization,content-type',
		});
	const allowed = await preflight('https://app.example.com');
	expect(allowed.status).toBe(204);
	expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
	expect(allowed.headers.get('access-control-allow-headers')).toMatch(/authorization/i);
	expect(allowed.headers.get('access-control-allow-credentials')).toBeNull();
	for (const origin of [
		'https://evil.example.com',
		'https://app.example.com.evil.com',
		'http://app.example.com',
		'null',
	])
		expect((await preflight(origin)).headers.get('access-control-allow-origin')).toBeNull();
	const answered = await ask(keys.alice, '/v1/sessions', 'GET', undefined, { origin: 'https://app.example.com' });
	expect(answered.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
	expect(answered.headers.get('access-control-expose-headers')).toMatch(/location/i);
});

test('every answer has security headers, including errors and streams', async () => {
	const { id } = await create(keys.alice);
	const stream = await ask(
		keys.alice,
		`/v1/sessions/${id}/messages`,
		'POST',
		{ text: 'Go' },
		{ accept: 'text/event-stream' },
	);
	await stream.text();
	for (const response of [stream, await ask(keys.alice, '/v1/nothing'), await ask(undefined, '/v1/sessions')]) {
		expect(response.headers.get('x-content-type-options')).toBe('nosniff');
		expect(response.headers.get('referrer-policy')).toBe('no-referrer');
		expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
	}
	expect(stream.headers.get('content-type')).toBe('text/event-stream');
	expect(stream.headers.get('cache-control')).toBe('no-cache');
});

test('a caller with too many requests gets Retry-After', async () => {
	const asked: string[] = [];
	const rateLimiter = {
		limit: async ({ key }: { key: string }) => {
			asked.push(key);
			return { success: false };
		},
	};
	const response = await worker.request(
		'https://runlet.example.com/v1/sessions',
		{ headers: { authorization: `Bearer ${keys.alice}` } },
		{ ...bindings, RATE_LIMITER: rateLimiter },
	);
	expect(response.status).toBe(429);
	expect(response.headers.get('retry-after')).toBe('10');
	expect(asked).toEqual([`key ${keys.alice.split('_')[1]}`]);
});

test('a key with its own rate limit does not use the rate limit of all keys', async () => {
	const { key, id } = makeKey();
	const asked: string[] = [];
	const RATE_LIMITER = { limit: async (one: { key: string }) => ({ success: asked.push(one.key) < 0 }) };
	const record = { id, owner: 'shop', hash: await hashKey(key), scopes: ['run'], rate: 3 };
	const own = { ...bindings, API_KEYS: JSON.stringify([record]), RATE_LIMITER };
	const get = () =>
		worker.request('https://runlet.example.com/v1/agents', { headers: { authorization: `Bearer ${key}` } }, own);
	for (let n = 0; n < 3; n++) expect((await get()).status).toBe(200);
	const refused = await get();
	expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
	expect(asked).toEqual([]);
});

test('the local mode answers only this machine and the Worker’s own pages', async () => {
	const local = { ...env, LOCAL: 'true' };
	const status = async (url: string, origin?: string) =>
		(await worker.request(url, { headers: origin === undefined ? {} : { origin } }, local)).status;
	expect(await status('http://127.0.0.1:8787/v1/agents')).toBe(200);
	expect(await status('http://localhost:8787/v1/agents', 'http://localhost:8787')).toBe(200);
	expect(await status('http://localhost:8787/v1/agents', 'http://127.0.0.1:8787')).toBe(200);
	expect(await status('http://localhost:8787/v1/agents', 'http://localhost:5173')).toBe(403);
	expect(await status('http://evil.example.com/v1/agents')).toBe(403);
	expect(await status('http://localhost:8787/v1/agents', 'https://evil.example.com')).toBe(403);
	expect(await status('http://localhost:8787/v1/agents', 'null')).toBe(403);
});

test('the local mode respects session tokens and ignores keys', async () => {
	const local = { ...env, LOCAL: 'true' };
	const status = async (headers: Record<string, string>, path: string, method = 'GET') =>
		(await worker.request(`http://localhost:8787${path}`, { method, headers }, local)).status;
	const make = async () => {
		const init = {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ agent: 'scripted' }),
		};
		const made = await worker.request('http://localhost:8787/v1/sessions', init, local);
		return made.json<{ id: string; token: string }>();
	};
	const [own, other] = [await make(), await make()];
	for (const [name, value] of [
		['authorization', `Bearer ${own.token}`],
		['x-api-key', own.token],
	] as const) {
		const headers = { [name]: value };
		expect(await status(headers, `/v1/sessions/${own.id}`)).toBe(200);
		expect(await status(headers, '/v1/sessions')).toBe(403);
		expect(await status(headers, `/v1/sessions/${own.id}`, 'DELETE')).toBe(403);
		expect(await status(headers, `/v1/sessions/${other.id}`)).toBe(404);
		expect(await status(headers, `/v1/sessions/${other.id}`, 'DELETE')).toBe(404);
	}
	const forged = `${own.token.slice(0, -1)}${own.token.endsWith('A') ? 'E' : 'A'}`;
	for (const token of [forged, 'rls_x'])
		expect(await status({ authorization: `Bearer ${token}` }, `/v1/sessions/${own.id}`), token).toBe(401);
	for (const key of ['Bearer sk-any', 'Bearer rl_x', 'Basic eA==', ''])
		expect(await status({ authorization: key }, '/v1/sessions'), key).toBe(200);
});

test('the local mode of npm start answers only requests through its proxy', async () => {
	const secret = 'f'.repeat(48);
	const local = { ...env, LOCAL: secret };
	const status = async (url: string, headers: Record<string, string>) =>
		(await worker.request(url, { headers }, local)).status;
	expect(await status('http://127.0.0.1:8787/v1/agents', { 'x-runlet-local': secret })).toBe(200);
	expect(await status('http://inner.example/v1/agents', { 'x-runlet-local': secret })).toBe(200);
	for (const wrong of ['', 'true', 'f'.repeat(47), `${secret}f`, `${'f'.repeat(47)}g`])
		expect(await status('http://127.0.0.1:8787/v1/agents', { 'x-runlet-local': wrong }), wrong).toBe(403);
	expect(await status('http://127.0.0.1:8787/v1/agents', {})).toBe(403);
});

test('a page on another port of this machine cannot write in the local mode, unless CORS_ORIGINS names it', async () => {
	const put = (headers: Record<string, string>, more: object = {}) =>
		worker.request(
			'http://localhost:8787/v1/skills/stolen',
			{ method: 'PUT', headers: { 'content-type': 'text/markdown', ...headers }, body: '' },
			{ ...env, LOCAL: 'true', ...more },
		);
	const origin = 'http://localhost:5173';
	const refused = await put({ origin });
	expect(refused.status).toBe(403);
	expect(await refused.text()).toContain('CORS_ORIGINS');
	expect((await put({ 'sec-fetch-site': 'same-site' })).status).toBe(403);
	const own: Record<string, string>[] = [{}, { origin: 'http://127.0.0.1:8787' }, { 'sec-fetch-site': 'same-origin' }];
	for (const headers of own) expect((await put(headers)).status).toBe(400);
	expect((await put({ origin }, { CORS_ORIGINS: origin })).status).toBe(400);
});
