/** Logins to MCP servers (OAuth 2.1). */
import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readHistory, readState, request } from '../../client.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';
import { type FakeLogin, type FakeServer, fakeTheWeb, requireLogin, serveTools } from './fake-servers.ts';

interface Started {
	readonly id: string;
	readonly run: { readonly status: string };
}

const directory = () => env.DIRECTORIES.get(env.DIRECTORIES.idFromName('local'));
const find = { id: 'c', name: 'tracker_find', input: {} };

let server: FakeServer;
let login: FakeLogin;
let called = 0;

beforeEach(() => {
	fakeTheWeb();
	called = 0;
	server = serveTools('tracker.example.com', { find: { call: () => `call ${++called}` } });
	serveTools('plain.example.com', {});
	login = requireLogin(server, 'tracker.example.com', 'login.example.com');
});
afterEach(async () => {
	vi.restoreAllMocks();
	await runInDurableObject(directory(), (_: unknown, { storage }) => void storage.sql.exec('DELETE FROM entry'));
});

/** Follows a link to the login page and back, like a browser. */
async function logIn(link: string): Promise<Response> {
	const { pathname, search } = login.logIn(link);
	return request(`${pathname}${search}`);
}

async function startLogin(name = 'tracker'): Promise<string> {
	const response = await request(`/v1/mcp/${name}/login`, {});
	expect(response.status, await response.clone().text()).toBe(200);
	return (await response.json<{ url: string }>()).url;
}

const isLoggedIn = async () => (await (await request('/v1/mcp/tracker')).json<{ isLoggedIn: boolean }>()).isLoggedIn;
const run = async (text = 'Go.') => (await request('/v1/sessions', { agent: 'tracking', text })).json<Started>();

async function waitFor(id: string, status: string): Promise<void> {
	await vi.waitFor(async () => expect((await readState(id)).status).toBe(status), { timeout: 10_000 });
}

describe('a login outside of a run', () => {
	test('starts with a link, returns to the Worker, and allows tool calls', async () => {
		const link = new URL(await startLogin());
		expect(link.origin).toBe('https://login.example.com');
		expect(link.searchParams.get('code_challenge_method')).toBe('S256');
		expect(link.searchParams.get('redirect_uri')).toBe('https://runlet.example.com/v1/mcp/callback');
		expect(link.searchParams.get('resource')).toBe('https://tracker.example.com/mcp');
		expect(await isLoggedIn()).toBe(false);
		const page = await logIn(link.href);
		expect(page.status).toBe(200);
		expect(await page.text()).toContain('You are logged in to tracker. You can close this window.');
		expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
		expect(page.headers.get('referrer-policy')).toBe('no-referrer');
		expect(await isLoggedIn()).toBe(true);
		play({ toolCalls: [find] }, 'Done.');
		const { run: first } = await run();
		expect({ status: first.status, called }).toEqual({ status: 'completed', called: 1 });
	});

	test('accepts each link once, and refuses a forged link', async () => {
		const back = login.logIn(await startLogin());
		const path = `${back.pathname}${back.search}`;
		expect((await request(path)).status).toBe(200);
		const again = await request(path);
		expect(again.status).toBe(400);
		expect(await again.text()).toContain('used or too old');
		const forged = new URL(back);
		forged.searchParams.set('state', `v1.${'a'.repeat(11)}.${'b'.repeat(16)}.${'c'.repeat(40)}`);
		expect(await (await request(`${forged.pathname}${forged.search}`)).text()).toContain('not made by this server');
		expect((await request('/v1/mcp/callback')).status).toBe(400);
	});

	test('refuses a link that is older than an hour', async () => {
		const back = login.logIn(await startLogin());
		const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_700_000);
		expect(await (await request(`${back.pathname}${back.search}`)).text()).toContain('used or too old');
		clock.mockRestore();
		expect(await isLoggedIn()).toBe(false);
	});

	test('refuses an answer of another issuer', async () => {
		const back = login.logIn(await startLogin());
		back.searchParams.set('iss', 'https://evil.example.com');
		const page = await request(`${back.pathname}${back.search}`);
		expect(page.status).toBe(400);
		expect(await isLoggedIn()).toBe(false);
		expect(login.asked).toEqual([]);
	});

	test('shows an error page if the person declines', async () => {
		const back = login.logIn(await startLogin());
		back.searchParams.delete('code');
		back.searchParams.set('error', 'access_denied<script>');
		const page = await (await request(`${back.pathname}${back.search}`)).text();
		expect(page).toContain('was not logged in to');
		expect(page).not.toContain('script');
	});

	test('registers the Worker as a client once, or sends the URL of its client document', async () => {
		await startLogin();
		await startLogin();
		expect(login.registered).toHaveLength(1);
		expect(login.registered[0]).toMatchObject({ redirect_uris: ['https://runlet.example.com/v1/mcp/callback'] });
		await runInDurableObject(directory(), (_: unknown, { storage }) => void storage.sql.exec('DELETE FROM entry'));
		login.takesDocuments = true;
		const id = new URL(await startLogin()).searchParams.get('client_id') ?? '';
		expect(id).toBe('https://runlet.example.com/v1/mcp/client.json');
		expect(login.registered).toHaveLength(1);
		const document = await (await request(new URL(id).pathname)).json<{ client_id: string; redirect_uris: string[] }>();
		expect(document).toMatchObject({ client_id: id, redirect_uris: ['https://runlet.example.com/v1/mcp/callback'] });
	});

	test('uses the client and the scopes that the definition of the server names', async () => {
		const own = serveTools('own.example.com', { find: { call: () => 'own' } });
		const ownLogin = requireLogin(own, 'own.example.com', 'own-login.example.com');
		const auth = { clientId: 'known', clientSecret: `\${APP}`, scopes: ['read', 'write'] };
		const body = { url: 'https://own.example.com/mcp', auth, secrets: { APP: 'secret-of-the-app' } };
		expect((await request('/v1/mcp/own', body, {}, 'PUT')).status).toBe(201);
		const link = new URL(await startLogin('own'));
		expect(link.searchParams.get('client_id')).toBe('known');
		expect(link.searchParams.get('scope')).toBe('read write');
		expect(ownLogin.registered).toEqual([]);
		const back = ownLogin.logIn(link.href);
		expect((await request(`${back.pathname}${back.search}`)).status).toBe(200);
		expect(ownLogin.asked[0]?.get('client_secret')).toBe('secret-of-the-app');
	});

	test('ends with a logout', async () => {
		await logIn(await startLogin());
		expect((await request('/v1/mcp/tracker/login', undefined, {}, 'DELETE')).status).toBe(204);
		expect(await isLoggedIn()).toBe(false);
		play({ toolCalls: [find] }, 'Done.');
		await run();
		expect(called).toBe(0);
	});
});

describe('a run whose call needs a login', () => {
	test('stops with the link, continues after the login, and makes the call once', async () => {
		// The tools are already known, so the call needs the login.
		await logIn(await startLogin());
		play('Hello.');
		await run();
		await request('/v1/mcp/tracker/login', undefined, {}, 'DELETE');

		play({ toolCalls: [find] }, 'Done.');
		const { id, run: stopped } = await run();
		expect(stopped.status).toBe('awaiting_user');
		const { question } = await readState(id);
		expect(question).toMatchObject({ options: { kind: 'login', server: 'tracker' } });
		expect(called).toBe(0);
		const link = JSON.stringify(question).match(/https:\/\/login\.example\.com\/authorize[^"\\ ]*/)?.[0] ?? '';
		expect((await logIn(link)).status).toBe(200);
		await waitFor(id, 'completed');
		expect(called).toBe(1);
		expect((await readHistory(id)).at(-1)).toMatchObject({ role: 'assistant', content: 'Done.' });
	});

	test('offers a user a login of their own, which works for no other user and ends when the user is erased', async () => {
		await logIn(await startLogin());
		play('Hello.');
		await run();
		await request('/v1/mcp/tracker/login', undefined, {}, 'DELETE');
		const runFor = async (user: string) =>
			(await request('/v1/sessions', { agent: 'tracking', user, text: 'Go.' })).json<Started>();
		play({ toolCalls: [find] }, 'Done.');
		const { id } = await runFor('ada');
		const { question } = await readState(id);
		const link = JSON.stringify(question).match(/https:\/\/login\.example\.com\/authorize[^"\\ ]*/)?.[0] ?? '';
		expect((await logIn(link)).status).toBe(200);
		await waitFor(id, 'completed');
		expect(await isLoggedIn()).toBe(false);
		const begin = async (user: string) => {
			play({ toolCalls: [find] }, 'Done.');
			return (await runFor(user)).run.status;
		};
		expect([await begin('ada'), await begin('ben'), await begin('ada')]).toEqual([
			'completed',
			'awaiting_user',
			'completed',
		]);
		expect((await request('/v1/users/ada', undefined, {}, 'DELETE')).status).toBe(200);
		expect(await begin('ada')).toBe('awaiting_user');
	});

	test('continues together with all other sessions that wait for this login', async () => {
		await logIn(await startLogin());
		play('Hello.');
		await run();
		await request('/v1/mcp/tracker/login', undefined, {}, 'DELETE');
		play({ toolCalls: [find] });
		const one = await run();
		play({ toolCalls: [find] });
		const other = await run();
		expect([one.run.status, other.run.status]).toEqual(['awaiting_user', 'awaiting_user']);
		play('Done.', 'Done.');
		await logIn(await startLogin());
		await Promise.all([waitFor(one.id, 'completed'), waitFor(other.id, 'completed')]);
		expect(called).toBe(2);
	});

	test('has a login tool if the server lists its tools only after a login', async () => {
		const { requests } = play(
			{ toolCalls: [{ id: 'c', name: 'tracker_login', input: {} }] },
			{ toolCalls: [find] },
			'Done.',
		);
		const { id, run: stopped } = await run();
		expect(requests[0]?.tools?.map(({ name }) => name)).toContain('tracker_login');
		expect(stopped.status).toBe('awaiting_user');
		const link = JSON.stringify((await readState(id)).question).match(/https:\/\/login[^"\\ ]*/)?.[0] ?? '';
		await logIn(link);
		await waitFor(id, 'completed');
		expect(called).toBe(1);
	});
});

describe('the tokens of a login', () => {
	test('are stored encrypted, and no answer contains them', async () => {
		await logIn(await startLogin());
		server.tools.find = { call: (_, { headers }) => headers.get('authorization') };
		play({ toolCalls: [find] }, 'Done.');
		const { id } = await run();
		const rows = await runInDurableObject(directory(), (_: unknown, { storage }) =>
			JSON.stringify(storage.sql.exec('SELECT * FROM entry').toArray()),
		);
		const answers = [
			await (await request('/v1/mcp')).text(),
			await (await request('/v1/mcp/tracker')).text(),
			await (await request(`/v1/sessions/${id}/export`)).text(),
			JSON.stringify(await readHistory(id)),
		];
		const shown = [rows, ...answers].join('\n');
		expect(shown).not.toMatch(/access-token-|refresh-token-/);
		expect(shown).toContain('[secret]');
	});

	test('are refreshed by two sessions at the same time, and no refresh token is used twice', async () => {
		await logIn(await startLogin());
		play('Hello.', 'Hello.');
		const [one, other] = await Promise.all([run(), run()]);
		login.valid.clear();
		play({ toolCalls: [find] }, { toolCalls: [find] }, 'Done.', 'Done.');
		const send = (id: string) => request(`/v1/sessions/${id}/messages`, { text: 'Again.' });
		const ends = await Promise.all([send(one.id), send(other.id)]);
		expect(await Promise.all(ends.map(async (end) => (await end.json<{ status: string }>()).status))).toEqual([
			'completed',
			'completed',
		]);
		expect(login.reused).toBe(0);
		expect(login.refreshed).toBeGreaterThan(0);
		expect(await isLoggedIn()).toBe(true);
	});

	test('are not used for a server with the same name and another URL', async () => {
		const own = serveTools('own.example.com', { find: { call: () => 'own' } });
		const ownLogin = requireLogin(own, 'own.example.com', 'own-login.example.com');
		const put = (url: string) => request('/v1/mcp/own', { url, auth: 'oauth' }, {}, 'PUT');
		await put('https://own.example.com/mcp');
		const back = ownLogin.logIn(await startLogin('own'));
		await request(`${back.pathname}${back.search}`);
		const evil = serveTools('evil.example.com', { find: { call: () => 'evil' } });
		requireLogin(evil, 'evil.example.com', 'evil-login.example.com');
		await put('https://evil.example.com/mcp');
		play('Done.');
		await request('/v1/sessions', { agent: 'connected', text: 'Go.' });
		expect(evil.requests.length).toBeGreaterThan(0);
		expect(evil.requests.every(({ headers }) => headers.get('authorization') === null)).toBe(true);
	});
});

describe('a Worker without the setup for logins', () => {
	test('names the missing variable when a login starts', async () => {
		const ask = (bindings: object) =>
			worker.request('http://localhost/v1/mcp/tracker/login', { method: 'POST', headers: json, body: '{}' }, bindings);
		const json = { 'content-type': 'application/json' };
		for (const name of ['PUBLIC_URL', 'SECRETS_KEY']) {
			const response = await ask({ ...env, [name]: undefined });
			expect(response.status).toBe(503);
			expect(await response.text()).toContain(`${name}: not set`);
		}
	});

	test('refuses a login link with 400, and has no client document', async () => {
		const bindings = { ...env, PUBLIC_URL: undefined, SECRETS_KEY: undefined };
		const back = await worker.request('http://localhost/v1/mcp/callback?state=x&code=y', {}, bindings);
		expect({ status: back.status, text: await back.text() }).toMatchObject({
			status: 400,
			text: expect.stringContaining('not made by this server'),
		});
		expect((await worker.request('http://localhost/v1/mcp/client.json', {}, bindings)).status).toBe(404);
	});
});
