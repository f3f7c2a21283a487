/** Requests without a valid credential. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createKeys } from '../../credentials.ts';
import worker from '../../worker.ts';

let keys: Readonly<Record<'alice' | 'admin', string>>;
let bindings: Record<string, unknown>;
beforeAll(async () => {
	({ keys, bindings } = await createKeys(
		{ alice: ['run'], admin: ['admin'] },
		{ CORS_ORIGINS: 'https://app.example.com' },
	));
});

const ask = (path: string, headers: Record<string, string> = {}, own: object = bindings, method = 'GET') =>
	worker.request(`https://runlet.example.com${path}`, { method, headers }, own);
const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
async function createSession() {
	const headers = { ...bearer(keys.alice), 'content-type': 'application/json' };
	const init = { method: 'POST', headers, body: '{"agent":"scripted"}' };
	const made = await worker.request('https://runlet.example.com/v1/sessions', init, bindings);
	return made.json<{ id: string; token: string; tokenId: string }>();
}
const paths = [
	'/v1/sessions',
	'/v1/chat/completions',
	'/v1/messages',
	'/v1/models',
	'/v1/ui/scripted/x/stream',
	'/v1/skills/x',
	'/v1/nothing',
];

describe('a refused request gets WWW-Authenticate', () => {
	test.each(paths)('at %s', async (path) => {
		const readChallenge = async (headers: Record<string, string>) => {
			const response = await ask(path, headers);
			expect(response.status).toBe(401);
			return response.headers.get('www-authenticate');
		};
		expect(await readChallenge({})).toBe('Bearer realm="runlet"');
		for (const authorization of ['', 'Basic YTpi', 'Bearer'])
			expect(await readChallenge({ authorization })).toBe('Bearer realm="runlet"');
		for (const credential of ['x', 'rl_abcdefgh_x', `rls_${'ab'.repeat(32)}_x`, `${keys.alice}x`])
			expect(await readChallenge(bearer(credential))).toMatch(
				/^Bearer realm="runlet", error="invalid_token", error_description="Authorization: [\x20\x21\x23-\x5b\x5d-\x7e]+"$/,
			);
	});

	test('with a session token, and with a key without the needed scope', async () => {
		const { id, token, tokenId } = await createSession();
		await ask(`/v1/sessions/${id}/token/${tokenId}`, bearer(keys.alice), bindings, 'DELETE');
		for (const path of [`/v1/sessions/${id}`, `/v1/ui/scripted/${id}/stream`]) {
			const response = await ask(path, bearer(token));
			expect(response.status).toBe(401);
			expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"');
		}
		const admin = await ask('/v1/skills/x', bearer(keys.alice), bindings, 'DELETE');
		expect(admin.status).toBe(403);
		expect(admin.headers.get('www-authenticate')).toMatch(/error="insufficient_scope", .*scope="admin"$/);
	});
});

describe('callers without a valid credential are counted by address', () => {
	/** A limiter that allows this number of requests for each key. */
	function readLimiter(most: number) {
		const asked = new Map<string, number>();
		const limit = async ({ key }: { key: string }) => {
			asked.set(key, (asked.get(key) ?? 0) + 1);
			return { success: (asked.get(key) ?? 0) <= most };
		};
		return { asked, own: { ...bindings, RATE_LIMITER: { limit } } };
	}
	const open = ['/healthz', '/openapi.json', '/docs', '/nothing', ...paths];

	test.each(open)('%s answers 429 above the limit, and still answers other addresses', async (path) => {
		const { own } = readLimiter(2);
		const readStatus = async (ip: string) => (await ask(path, { 'cf-connecting-ip': ip }, own)).status;
		const first = await readStatus('203.0.113.7');
		expect(first).not.toBe(429);
		expect([await readStatus('203.0.113.7'), await readStatus('203.0.113.7')]).toEqual([first, 429]);
		expect(await readStatus('203.0.113.8')).toBe(first);
		const [one, two] = ['2001:db8:1:2:aaaa::1', '2001:db8:1:2:bbbb::2'];
		expect([await readStatus(one), await readStatus(two), await readStatus(one)]).toEqual([first, first, 429]);
	});

	test('callers are counted even if the configuration is invalid', async () => {
		const { own } = readLimiter(1);
		const broken = { ...own, CORS_ORIGINS: 'no origin' };
		const statusOf = async () => (await ask('/healthz', { 'cf-connecting-ip': '203.0.113.10' }, broken)).status;
		expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
	});

	test('keys and tokens are not counted by address, so a stranger cannot block them', async () => {
		const { own, asked } = readLimiter(2);
		const from = { 'cf-connecting-ip': '203.0.113.7' };
		for (let n = 0; n < 4; n++) await ask('/v1/sessions', from, own);
		expect((await ask('/v1/sessions', from, own)).status).toBe(429);
		expect((await ask('/v1/sessions', { ...from, ...bearer(keys.alice) }, own)).status).toBe(200);
		expect([...asked.keys()].sort()).toEqual(['address 203.0.113.7', `key ${keys.alice.split('_')[1]}`]);
	});

	test('invalid tokens are counted after the session refuses them', async () => {
		const { own } = readLimiter(2);
		const { id } = await createSession();
		const statuses: number[] = [];
		for (let n = 0; n < 3; n++) {
			const token = `rls_${id}_${String(n).repeat(16)}_zzzzzz_${'A'.repeat(43)}`;
			// A new limiter for each token, so that only the address counts them together.
			const { own: fresh } = readLimiter(9);
			const limit = (request: { key: string }) =>
				request.key.startsWith('address') ? own.RATE_LIMITER.limit(request) : fresh.RATE_LIMITER.limit(request);
			const response = await ask(
				`/v1/sessions/${id}`,
				{ ...bearer(token), 'cf-connecting-ip': '203.0.113.7' },
				{
					...bindings,
					RATE_LIMITER: { limit },
				},
			);
			statuses.push(response.status);
		}
		expect(statuses).toEqual([401, 401, 429]);
	});

	test('without the binding RATE_LIMITER the isolate counts the callers', async () => {
		const ip = '198.51.100.23';
		const statuses = new Set<number>();
		let refused: Response | undefined;
		for (let n = 0; n < 201; n++) {
			const response = await ask('/v1/sessions', { 'cf-connecting-ip': ip });
			statuses.add(response.status);
			if (response.status === 429) refused = response;
		}
		expect([...statuses]).toEqual([401, 429]);
		expect(refused?.headers.get('retry-after')).toBe('10');
		expect((await ask('/v1/sessions', { 'cf-connecting-ip': '198.51.100.24' })).status).toBe(401);
		expect((await ask('/v1/sessions', { 'cf-connecting-ip': ip, ...bearer(keys.alice) })).status).toBe(200);
	});

	test('a CORS preflight is counted, too', async () => {
		const { own } = readLimiter(1);
		const preflight = async () =>
			(
				await ask(
					'/v1/sessions',
					{
						origin: 'https://app.example.com',
						'access-control-request-method': 'POST',
						'cf-connecting-ip': '203.0.113.9',
					},
					own,
					'OPTIONS',
				)
			).status;
		expect([await preflight(), await preflight()]).toEqual([204, 429]);
	});
});
