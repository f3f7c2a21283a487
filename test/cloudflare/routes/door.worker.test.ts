/** Rules for every route of the app, also for new ones. */
import { env } from 'cloudflare:test';
import { beforeAll, expect, test } from 'vitest';
import { createKeys } from '../../credentials.ts';
import worker from '../../worker.ts';

/** Routes without authentication. Each is a decision. */
const open = [
	/^\/((app|embed|highlight|mathml|theme)\.js|style\.css|theme\.css)?$/,
	/^\/healthz$/,
	/^\/openapi\.json$/,
	/^\/docs/,
	/^\/v1\/webhooks\//,
	// A login server reads `client.json`, and redirects a browser to `callback` with a checked state.
	/^\/v1\/mcp\/(client\.json|callback)$/,
	// A card that says only how to call.
	/^\/v1\/a2a\/:agent\/\.well-known\/agent-card\.json$/,
	// The link is the credential for a call.
	/^\/v1\/decisions\//,
];

const routes = worker.routes
	.filter(({ method, path }) => method !== 'ALL' && !path.includes('*'))
	.map(({ method, path }) => ({ method, path, at: path.replace(/:\w+(\{[^}]*\})?/g, 'x') }));

let keys: Readonly<Record<'alice', string>>;
let bindings: Record<string, unknown>;

beforeAll(async () => {
	({ keys, bindings } = await createKeys({ alice: ['run'] }, { CORS_ORIGINS: 'https://app.example.com' }));
});

const ask = (
	at: string,
	method: string,
	headers: Record<string, string>,
	own: object = bindings,
	host = 'https://runlet.example.com',
) => worker.request(`${host}${at}`, { method, headers }, own);

test('every route needs a credential, except the public routes', async () => {
	expect(routes.length).toBeGreaterThan(20);
	const answered: string[] = [];
	for (const { method, path, at } of routes) {
		const { status } = await ask(at, method, {});
		if (status !== 401) answered.push(path);
	}
	expect(answered.filter((path) => !open.some((form) => form.test(path)))).toEqual([]);
});

test('a Worker without keys answers 503 on every route that is not public', async () => {
	for (const { method, path, at } of routes) {
		if (open.some((form) => form.test(path))) continue;
		for (const authorization of [undefined, `Bearer ${keys.alice}`]) {
			const response = await ask(at, method, authorization === undefined ? {} : { authorization }, {
				...env,
				LOCAL: 'false',
			});
			expect([response.status, path]).toEqual([503, path]);
			expect(await response.text()).toContain('npm run keys');
		}
	}
});

test('every route has security headers, and no CORS header for a page of another host', async () => {
	for (const { method, at } of routes) {
		for (const authorization of ['', `Bearer ${keys.alice}`]) {
			const origin = 'https://evil.example';
			const response = await ask(at, method, { origin, ...(authorization !== '' && { authorization }) });
			const { headers } = response;
			const where = `${method} ${at} ${response.status}`;
			expect(headers.get('x-content-type-options'), where).toBe('nosniff');
			// With `no-referrer` a browser sends no usable origin with the form of a decision.
			const policy = at.startsWith('/v1/decisions/') ? 'same-origin' : 'no-referrer';
			expect(headers.get('referrer-policy'), where).toBe(policy);
			expect(headers.get('x-frame-options'), where).toBe('DENY');
			expect(headers.get('content-security-policy'), where).toContain("default-src 'none'");
			expect(headers.get('content-security-policy'), where).toContain("frame-ancestors 'none'");
			expect(headers.get('set-cookie'), where).toBeNull();
			expect(headers.get('access-control-allow-origin'), where).toBeNull();
			expect(headers.get('access-control-allow-credentials'), where).toBeNull();
			await response.body?.cancel();
		}
	}
});

test('a page of an allowed origin can read every answer and every refusal, without cookies', async () => {
	const origin = 'https://app.example.com';
	for (const { method, path, at } of routes.filter(({ path }) => path.startsWith('/v1/') && !/webhooks/.test(path))) {
		const asked = {
			origin,
			'access-control-request-method': method,
			'access-control-request-headers': 'authorization',
		};
		const preflight = await ask(at, 'OPTIONS', asked);
		expect([preflight.status, path]).toEqual([204, path]);
		expect(preflight.headers.get('access-control-allow-methods')).toContain(method);
		const refused = await ask(at, method, { origin });
		for (const { headers } of [preflight, refused]) {
			expect(headers.get('access-control-allow-origin'), path).toBe(origin);
			expect(headers.get('vary'), path).toMatch(/origin/i);
			expect(headers.get('access-control-allow-credentials'), path).toBeNull();
		}
	}
});

test('in the local mode only the Worker’s own pages are allowed to call', async () => {
	const local = { ...env, LOCAL: 'true', API_KEYS: '' };
	const allowed = async (origin: string, host = 'http://127.0.0.1:8787') => {
		const headers = { origin, 'access-control-request-method': 'POST' };
		const preflight = await ask('/v1/sessions', 'OPTIONS', headers, local, host);
		const answer = await ask('/v1/sessions', 'GET', { origin }, local, host);
		const names = [preflight, answer].map((one) => one.headers.get('access-control-allow-origin'));
		return answer.status === 200 && names.every((name) => name === origin);
	};
	for (const origin of ['http://localhost:8787', 'http://127.0.0.1:8787', 'http://[::1]:8787'])
		expect(await allowed(origin), origin).toBe(true);
	for (const origin of [
		'http://localhost:5173',
		'https://evil.example',
		'http://localhost.evil.example',
		'http://evil.localhost',
		'http://127.0.0.1.evil.example',
		'http://0.0.0.0',
		'null',
		'file://',
		'http://localhost@evil.example',
	])
		expect(await allowed(origin), origin).toBe(false);
	for (const host of ['http://rebound.evil.example:8787', 'http://localhost.evil.example', 'http://10.0.0.1'])
		expect(await allowed('http://localhost:8787', host), host).toBe(false);
});

test('a key or a token with too many requests is refused before any work', async () => {
	const asked: string[] = [];
	const limiter = {
		limit: async ({ key }: { key: string }) => {
			asked.push(key);
			return { success: false };
		},
	};
	const session = 'ab'.repeat(32);
	const token = `rls_${session}_${'0'.repeat(16)}_zzzzzz_${'A'.repeat(43)}`;
	for (const credential of [keys.alice, token]) {
		const response = await ask(
			'/v1/sessions',
			'POST',
			{ authorization: `Bearer ${credential}` },
			{ ...bindings, RATE_LIMITER: limiter },
		);
		expect(response.status).toBe(429);
		expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
	}
	expect(new Set(asked).size).toBe(2);
	expect(asked.join()).not.toContain(keys.alice.slice(-43));
	expect(asked.join()).not.toContain(token);
});
