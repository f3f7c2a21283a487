import { env } from 'cloudflare:test';
import { expect, onTestFinished, test, vi } from 'vitest';
import { roles } from '../../../src/cloudflare/auth/rights.ts';
import { type Authenticate, createRunlet, defineAgent, type Runlet } from '../../../src/cloudflare/runlet/index.ts';
import { RunletError } from '../../../src/core/base/errors.ts';
import { createKeys } from '../../credentials.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';

const agents = [
	defineAgent({ name: 'plain', description: 'On the model of the Worker.' }),
	defineAgent({ name: 'hooked', description: 'Takes webhooks.', model: 'demo', webhooks: { github: () => 'Hello' } }),
];
const deployed = { ...env, LOCAL: 'false', API_KEYS: '', RATE_LIMITER: undefined };
const url = 'https://product.example.com';

/** A product whose accounts sign in by a cookie: `user=ada+admin` for an owner with a scope, and `person=` and `role=`. */
const authenticate: Authenticate = async (request) => {
	const cookie = request.headers.get('cookie') ?? '';
	const [, owner, scope] = /\buser=([^;+]*)(?:\+(\w+))?/.exec(cookie) ?? [];
	const [, user] = /\bperson=(\w+)/.exec(cookie) ?? [];
	const role = roles.find((one) => cookie.includes(`role=${one}`));
	if (owner === undefined) return undefined;
	return { owner, user, role, ...(scope === 'admin' && { scopes: ['run', 'admin'] }) };
};
const product = createRunlet({ agents, authenticate });

interface Asked {
	/** The owner, and further text of the cookie. */
	readonly as?: string;
	readonly method?: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body?: object;
	readonly given?: object;
	readonly of?: Runlet;
}

function ask(path: string, { as, method = 'GET', headers = {}, body, given = deployed, of = product }: Asked = {}) {
	const cookie: Record<string, string> = as === undefined ? {} : { cookie: `theme=dark; user=${as}` };
	const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
	const init = { method, headers: { ...cookie, ...json, ...headers }, body: body && JSON.stringify(body) };
	return of.fetch(new Request(`${url}${path}`, init), given);
}

async function createSession(as: string, more: Asked = {}) {
	const response = await ask('/v1/sessions', { ...more, as, method: 'POST', body: { agent: 'plain', text: 'Hello' } });
	expect(response.status).toBe(201);
	const { id, token }: { id: string; token: string } = await response.json();
	return { id, token };
}

/** Operations of a session; `true` marks operations that no customer may use. */
const operations: readonly (readonly [path: string, method: string, isForStaff?: true, body?: object])[] = [
	['', 'GET'],
	['', 'DELETE', true],
	['', 'PATCH', true, { title: 'Mine' }],
	['/messages', 'GET'],
	['/messages', 'POST', undefined, { text: 'Hi' }],
	['/answer', 'POST', undefined, { text: 'Hi' }],
	['/tool-results', 'POST', undefined, [{ id: 'a', output: 1 }]],
	['/continue', 'POST'],
	['/files', 'GET'],
	['/export', 'GET', true],
	['/trace', 'GET', true],
	['/runs/run_1/feedback', 'PUT', undefined, { rating: 'up' }],
	['/fork', 'POST', true, {}],
	['/events', 'GET'],
	['/cancel', 'POST'],
	['/token', 'POST', true, {}],
];

test('an account cannot use a session of another account, or learn that the session exists', async () => {
	const { id } = await createSession('ada@example.com');
	expect((await ask(`/v1/sessions/${id}`, { as: 'ada@example.com' })).status).toBe(200);
	const none = env.SESSIONS.newUniqueId().toString();
	for (const [path, method, isForStaff, body] of operations)
		for (const role of roles) {
			const seen = async (session: string) => {
				const response = await ask(`/v1/sessions/${session}${path}`, { as: `bob; role=${role}`, method, body });
				return [response.status, await response.text()] as const;
			};
			const foreign = await seen(id);
			const where = `${method} ${path} as ${role}`;
			// The answer does not reveal whether the session exists.
			expect(foreign, where).toEqual(await seen(none));
			expect(foreign[0], where).toBe(isForStaff && role === 'customer' ? 403 : 404);
		}
	const listed = async (as: string) => {
		const { sessions }: { sessions: { id: string }[] } = await (await ask('/v1/sessions', { as })).json();
		return sessions.map((one) => one.id);
	};
	expect(await listed('ada@example.com')).toEqual([id]);
	expect(await listed('bob')).toEqual([]);
});

test('customers see only their own sessions, and staff see all sessions of their owner', async () => {
	const kim = 'firm; person=kim';
	const { id, token } = await createSession(kim);
	const lee = await createSession('firm; person=lee');
	expect(await (await ask(`/v1/sessions/${id}`, { as: kim })).json()).toMatchObject({ user: 'kim' });
	const strangers = [
		'firm; person=lee',
		'firm',
		'firm; role=customer',
		'other; person=kim',
		'other; person=kim; role=admin',
	];
	for (const [path, method, isForStaff, body] of operations)
		for (const as of strangers) {
			const { status } = await ask(`/v1/sessions/${id}${path}`, { as, method, body });
			expect([as, path, status]).toEqual([as, path, isForStaff && !as.includes('admin') ? 403 : 404]);
		}
	// The token of an own session opens no other session.
	const headers = { authorization: `Bearer ${token}` };
	expect((await ask(`/v1/sessions/${lee.id}`, { headers })).status).toBe(404);
	for (const as of ['firm; person=sam; role=staff', 'firm; role=staff', 'firm; person=ann; role=admin'])
		expect((await ask(`/v1/sessions/${id}`, { as })).status).toBe(200);
	const listed = async (as: string) => {
		const { sessions }: { sessions: { id: string }[] } = await (await ask('/v1/sessions', { as })).json();
		return sessions.map((one) => one.id).sort();
	};
	expect(await listed(kim)).toEqual([id]);
	expect(await listed('firm; person=sam; role=staff')).toEqual([id, lee.id].sort());
});

test('an account without a role is a customer, who cannot manage even their own sessions', async () => {
	const { id } = await createSession('mia');
	for (const [path, method, isForStaff, body] of operations.toReversed()) {
		if (!isForStaff) continue;
		const refused = await ask(`/v1/sessions/${id}${path}`, { as: 'mia', method, body });
		expect([path, refused.status, await refused.json()]).toMatchObject([
			path,
			403,
			{
				error: { code: 'forbidden', message: expect.stringContaining('the role staff or admin; this one is customer') },
			},
		]);
	}
	expect((await ask('/v1/approvals', { as: 'mia' })).status).toBe(403);
	for (const [path, method, isForStaff, body] of operations.toReversed()) {
		if (!isForStaff) continue;
		expect((await ask(`/v1/sessions/${id}${path}`, { as: 'mia; role=staff', method, body })).status).toBeLessThan(300);
	}
});

test('a request without an account gets a 401, and the error says to sign in', async () => {
	const none: Record<string, string>[] = [{}, { authorization: 'Bearer something' }, { cookie: 'theme=dark' }];
	for (const headers of none) {
		const response = await ask('/v1/sessions', { headers });
		expect([response.status, await response.json()]).toMatchObject([
			401,
			{ error: { code: 'auth', message: expect.stringContaining('Sign in') } },
		]);
		expect(response.headers.get('www-authenticate')).toContain('Bearer');
	}
});

test('an account without the scope `admin` can neither change skills nor see other owners', async () => {
	const { id } = await createSession('carol');
	const put = (as: string) =>
		ask('/v1/skills/x', { as, method: 'PUT', headers: { 'content-type': 'text/markdown', 'if-none-match': '*' } });
	const refused = await put('dave');
	expect([refused.status, await refused.text()]).toEqual([
		403,
		expect.stringContaining('an account with the scope admin'),
	]);
	expect((await put('root+admin')).status).not.toBe(403);
	expect((await ask('/v1/sessions?owner=carol', { as: 'dave' })).status).toBe(403);
	const { sessions }: { sessions: object[] } = await (
		await ask('/v1/sessions?owner=carol', { as: 'root+admin' })
	).json();
	expect(sessions).toMatchObject([{ id, owner: 'carol' }]);
	expect((await ask('/healthz?deep', { as: 'dave' })).status).toBe(403);
	expect((await ask('/healthz?deep', { as: 'root+admin' })).status).not.toBe(403);
});

test("a session's token works without an account until it is revoked", async () => {
	const { id, token } = await createSession('erin');
	const headers = { authorization: `Bearer ${token}` };
	expect((await ask(`/v1/sessions/${id}`, { headers })).status).toBe(200);
	const { tokenId, token: second }: { tokenId: string; token: string } = await (
		await ask(`/v1/sessions/${id}/token`, { as: 'erin; role=staff', method: 'POST', body: {} })
	).json();
	const withSecond = { headers: { authorization: `Bearer ${second}` } };
	expect((await ask(`/v1/sessions/${id}`, withSecond)).status).toBe(200);
	expect((await ask(`/v1/sessions/${id}/token/${tokenId}`, { as: 'erin; role=staff', method: 'DELETE' })).status).toBe(
		204,
	);
	expect((await ask(`/v1/sessions/${id}`, withSecond)).status).toBe(401);
});

test('API keys work beside accounts, and a key cannot read the session of an account', async () => {
	const { keys, bindings } = await createKeys({ shop: ['run'] });
	const headers = { authorization: `Bearer ${keys.shop}` };
	const created = await ask('/v1/sessions', { headers, method: 'POST', body: { agent: 'plain' }, given: bindings });
	expect(created.status).toBe(201);
	const { id, token } = await createSession('frank', { given: bindings });
	expect(await (await ask(`/v1/sessions/${id}`, { as: 'frank', given: bindings })).json()).toMatchObject({
		status: 'completed',
	});
	expect((await ask(`/v1/sessions/${id}`, { headers, given: bindings })).status).toBe(404);
	const withToken = { headers: { authorization: `Bearer ${token}` }, given: bindings };
	expect((await ask(`/v1/sessions/${id}`, withToken)).status).toBe(200);
});

test('webhooks work beside accounts, and no account owns their sessions', async () => {
	const body = JSON.stringify({ action: 'opened' });
	const { secret, headers: sign } = senders.github;
	const signed = sign(body, { id: crypto.randomUUID(), at: Math.floor(Date.now() / 1_000), secrets: [secret] });
	const response = await product.fetch(
		new Request(`${url}/v1/webhooks/hooked/github`, { method: 'POST', body, headers: signed }),
		deployed,
	);
	expect(response.status).toBe(202);
	const { sessionId }: { sessionId: string } = await response.json();
	expect((await ask(`/v1/sessions/${sessionId}`, { as: 'judy' })).status).toBe(404);
	const seen = await ask(`/v1/sessions/${sessionId}`, { as: 'root+admin' });
	expect(await seen.json()).toMatchObject({ owner: 'webhooks' });
});

test.each(['webhooks', 'local', '*', '', 'a b', 'é', 'x'.repeat(129)])(
	'refuses an account with the owner "%s"',
	async (owner) => {
		const named = createRunlet({ agents, authenticate: () => ({ owner }) });
		const response = await ask('/v1/sessions', { of: named });
		expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('not_configured')]);
		const secret = 's'.repeat(40);
		const here = { given: { ...deployed, LOCAL: secret }, headers: { 'x-runlet-local': secret } };
		expect(await (await ask('/v1/sessions', { of: named, ...here })).text()).toContain(
			'authenticate of createRunlet: owner: ',
		);
	},
);

test('an error that `authenticate` throws gives a 503 without the error’s text, and is logged', async () => {
	const errors = vi.spyOn(console, 'error').mockImplementation(() => {});
	onTestFinished(() => errors.mockRestore());
	const broken = createRunlet({
		agents,
		authenticate: () => {
			throw new TypeError('password of the database');
		},
	});
	const response = await ask('/v1/sessions', { of: broken, as: 'ada' });
	const text = await response.text();
	expect([response.status, text]).toEqual([503, expect.stringContaining('not_configured')]);
	expect(text).not.toMatch(/password|authenticate/);
	const lines = () => errors.mock.calls.map(([line]) => JSON.parse(line));
	expect(lines()).toMatchObject([{ event: 'authenticate.threw', 'exception.type': 'TypeError' }]);
	expect(errors.mock.calls.join()).not.toContain('password');

	const local = { ...deployed, LOCAL: 's'.repeat(40) };
	expect((await ask('/v1/sessions', { of: broken, as: 'ada', given: local })).status).toBe(503);
	expect(lines()[1]).toMatchObject({ 'exception.message': 'password of the database' });
});

test('a RunletError that `authenticate` throws is sent as the answer', async () => {
	const closed = createRunlet({
		agents,
		authenticate: () => {
			throw new RunletError('forbidden', 'This account is closed.');
		},
	});
	const response = await ask('/v1/sessions', { of: closed, as: 'ada' });
	expect([response.status, await response.text()]).toEqual([403, expect.stringContaining('This account is closed.')]);
});

test('if `authenticate` does not answer within ten seconds, the caller gets a 503 that names `authenticate`', async () => {
	vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
	onTestFinished(() => void vi.useRealTimers());
	const called = Promise.withResolvers<void>();
	const stuck = createRunlet({
		agents,
		authenticate: () => {
			called.resolve();
			return new Promise(() => {});
		},
	});
	const asked = ask('/v1/sessions', { of: stuck, as: 'ada' });
	await called.promise;
	await vi.advanceTimersByTimeAsync(10_000);
	const response = await asked;
	expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([
		503,
		'5',
		expect.stringContaining('authenticate of createRunlet did not answer within 10000 ms'),
	]);
});

test('`authenticate` gets the original request without its body, and the environment of the project', async () => {
	let seen: { url: string; method: string; hasBody: boolean; given: unknown } | undefined;
	const mounted = createRunlet({
		agents,
		basePath: '/ai',
		bindings: { SESSIONS: 'CHATS' },
		authenticate: (request, given) => {
			seen = { url: request.url, method: request.method, hasBody: request.body !== null, given };
			return { owner: 'grace' };
		},
	});
	const given = { ...deployed, CHATS: deployed.SESSIONS, SESSIONS: undefined };
	const response = await ask('/ai/v1/sessions?x', { of: mounted, method: 'POST', body: { agent: 'plain' }, given });
	expect(response.status).toBe(400);
	expect(seen).toEqual({ url: `${url}/ai/v1/sessions?x`, method: 'POST', hasBody: false, given });
	expect(seen?.given).toBe(given);
});

test("a page of another site cannot use an account's cookie unless CORS_ORIGINS lists the site", async () => {
	const { id } = await createSession('heidi');
	const path = `/v1/sessions/${id}/cancel`;
	const cancel = (headers: Record<string, string>, given: object = deployed) =>
		ask(path, { as: 'heidi', method: 'POST', headers, given });
	expect((await cancel({})).status).toBe(200);
	expect((await cancel({ origin: url })).status).toBe(200);
	expect((await cancel({ origin: 'https://evil.example' })).status).toBe(403);
	expect((await cancel({ origin: 'null' })).status).toBe(403);
	expect((await cancel({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
	const app = 'https://app.example.com';
	const allowed = await cancel({ origin: app }, { ...deployed, CORS_ORIGINS: app });
	expect([allowed.status, allowed.headers.get('access-control-allow-credentials')]).toEqual([200, 'true']);
	expect(allowed.headers.get('access-control-allow-origin')).toBe(app);
});

test('the rate limit counts each account and each person of an account separately', async () => {
	const counted: string[] = [];
	const limiter = { limit: async ({ key }: { key: string }) => ({ success: counted.push(key) > 0 }) };
	await ask('/v1/sessions', { as: 'ivan', given: { ...deployed, RATE_LIMITER: limiter } });
	expect(counted).toEqual(['account ivan']);
	await ask('/v1/sessions', { as: 'ivan; person=kim', given: { ...deployed, RATE_LIMITER: limiter } });
	await ask('/v1/sessions', { as: 'ivan; person=lee', given: { ...deployed, RATE_LIMITER: limiter } });
	expect(new Set(counted).size).toBe(3);
});

test('an error of the function `providers` is shown only to an admin', async () => {
	const throwing = () => {
		throw new RunletError('invalid_request', 'apiKey: HOUSE_KEY is empty');
	};
	const of = createRunlet({ agents, authenticate, providers: throwing });
	const customer = await ask('/v1/agents', { as: 'ada', of });
	expect([customer.status, await customer.text()]).toEqual([503, expect.not.stringMatching(/HOUSE_KEY|providers/)]);
	const admin = await ask('/v1/agents', { as: 'ada; role=admin', of });
	expect([admin.status, await admin.text()]).toEqual([
		503,
		expect.stringContaining('providers of createRunlet threw an error: apiKey: HOUSE_KEY is empty'),
	]);
});

test('only an admin sees the variable to set for a model that is not ready', async () => {
	const of = createRunlet({
		agents: [defineAgent({ name: 'keyless', description: 'No key.', model: 'claude-sonnet-4-6' })],
		authenticate,
	});
	const customer = await (await ask('/v1/agents', { as: 'ada', of })).text();
	expect(JSON.parse(customer)).toMatchObject({ agents: [{ ready: false }] });
	expect(customer).not.toContain('ANTHROPIC_API_KEY');
	const admin = await (await ask('/v1/agents', { as: 'ada; role=admin', of })).text();
	expect(admin).toContain('ANTHROPIC_API_KEY');
});

test('only an admin reads the system prompts of agents', async () => {
	const of = createRunlet({
		agents: [defineAgent({ name: 'brief', description: 'Is brief.', model: 'demo', system: 'Be brief.' })],
		authenticate,
	});
	const read = async (as: string): Promise<unknown> => (await ask('/v1/agents', { as, of })).json();
	expect(await read('ada')).not.toHaveProperty('agents.0.system');
	expect(await read('ada; role=staff')).not.toHaveProperty('agents.0.system');
	expect(await read('ada; role=admin')).toHaveProperty('agents.0.system', 'Be brief.');
});
