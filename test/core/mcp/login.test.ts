import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { BrowserLogin } from '../../../scripts/conformance/login.ts';
import {
	createConnection,
	finishLogin,
	fromServer,
	inMemoryAcceptance,
	type McpProblem,
} from '../../../src/core/mcp/index.ts';
import { isAskUser } from '../../../src/core/tool/index.ts';
import { type Served, serve } from './serve.ts';
import { call, createServer, keep, text } from './support.ts';

/** A server that accepts its newest token, and gives tokens to clients that register and log in. */
async function serveBehindLogin(wants: (method: string | undefined) => boolean): Promise<Served & { revoke(): void }> {
	const handler = createMcpHandler(createServer({ see: () => text('seen') }));
	let token = crypto.randomUUID();
	const served = await serve(async (request) => {
		const { origin, pathname, searchParams } = new URL(request.url);
		switch (pathname) {
			case '/.well-known/oauth-protected-resource/mcp':
				return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
			case '/.well-known/oauth-authorization-server':
				return Response.json({
					issuer: origin,
					authorization_endpoint: `${origin}/authorize`,
					token_endpoint: `${origin}/token`,
					registration_endpoint: `${origin}/register`,
					response_types_supported: ['code'],
					code_challenge_methods_supported: ['S256'],
					token_endpoint_auth_methods_supported: ['none'],
				});
			case '/register':
				return Response.json({ ...(await request.json<object>()), client_id: 'client' }, { status: 201 });
			case '/authorize': {
				const location = `${searchParams.get('redirect_uri')}?code=c&state=${searchParams.get('state')}`;
				return new Response(null, { status: 302, headers: { location } });
			}
			case '/token':
				return Response.json({ access_token: token, token_type: 'Bearer' });
		}
		const { method } = request.method === 'POST' ? await request.clone().json<{ method?: string }>() : {};
		if (!wants(method) || request.headers.get('authorization') === `Bearer ${token}`) return handler.fetch(request);
		const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
		return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
	});
	return {
		...served,
		revoke: () => {
			token = crypto.randomUUID();
		},
	};
}

describe('a server that requires a login', () => {
	it('makes its tool ask a question with the login link, and gets the call after the login', async () => {
		const served = keep(await serveBehindLogin((method) => method === 'tools/call'));
		const login = new BrowserLogin(served.url);
		const { tools } = keep(await fromServer({ name: 'fixture', url: served.url, auth: login }));
		const { output } = await call(tools, 'see');
		if (!isAskUser(output)) throw new Error('it did not ask');
		expect(output.options).toMatchObject({
			kind: 'login',
			server: 'fixture',
			url: expect.stringMatching(/\/authorize\?.*code_challenge=/),
		});
		expect(output.question).toContain(String(output.options?.url));
		await login.logIn();
		expect((await call(tools, 'see', {}, { answer: { text: 'done', resume: output.resume } })).output).toBe('seen');
	});

	it('makes its tool ask again if the person did not log in', async () => {
		const served = keep(await serveBehindLogin((method) => method === 'tools/call'));
		const { tools } = keep(await fromServer({ name: 'fixture', url: served.url, auth: new BrowserLogin(served.url) }));
		const first = (await call(tools, 'see')).output;
		if (!isAskUser(first)) throw new Error('it did not ask');
		expect(isAskUser((await call(tools, 'see', {}, { answer: { text: 'done', resume: first.resume } })).output)).toBe(
			true,
		);
	});

	it('offers only a login tool if its tool list requires the login, and offers its own tools after the login', async () => {
		const served = keep(await serveBehindLogin(() => true));
		const login = new BrowserLogin(served.url);
		const problems: McpProblem[] = [];
		const connection = keep(
			createConnection(
				{ name: 'fixture', url: served.url },
				{ allowLoopback: true, login, onProblem: (problem) => problems.push(problem) },
			),
		);
		const before = await connection.loadTools();
		expect([before.map(({ name }) => name), problems.map(({ code }) => code)]).toEqual([['fixture_login'], ['login']]);
		const asked = (await call(before, 'login')).output;
		expect(isAskUser(asked)).toBe(true);
		await login.logIn();
		const said = await call(before, 'login', {}, { answer: { text: 'done', resume: { kind: 'login' } } });
		expect(said.output).toBe('Logged in to fixture. It has 1 tools, which can be called from the next turn on.');
		expect((await connection.loadTools()).map(({ name }) => name)).toEqual(['fixture_see']);
	});

	it('makes fromServer reject with the link if its tool list requires the login', async () => {
		const served = keep(await serveBehindLogin(() => true));
		const auth = new BrowserLogin(served.url);
		const data = { server: 'fixture', url: expect.stringContaining('/authorize?') };
		await expect(fromServer({ name: 'fixture', url: served.url, auth })).rejects.toMatchObject({ code: 'auth', data });
	});

	it('makes finishLogin fail with `auth` if the login page refuses, and with `network` if the server fails', async () => {
		const other = keep(await serve(() => new Response('token-of-somebody', { status: 500 })));
		const server = { name: 'fixture', url: other.url };
		const finish = (query: string) => {
			const login = new BrowserLogin(other.url);
			return finishLogin(server, { login, query: new URLSearchParams(query), allowLoopback: true });
		};
		const refused = 'fixture was not logged in to: its login page refused it. Try again.';
		await expect(finish('error=access_denied&state=s')).rejects.toMatchObject({ code: 'auth', message: refused });
		const failed = await finish('code=c&state=s').catch((thrown: unknown) => thrown);
		expect(failed).toMatchObject({ code: 'network', message: expect.not.stringContaining('token-of-somebody') });
	});

	it('keeps the accepted tools after the login is revoked, and their calls ask for a new login', async () => {
		const served = keep(await serveBehindLogin(() => true));
		const login = new BrowserLogin(served.url);
		const acceptance = inMemoryAcceptance();
		const connect = () =>
			keep(createConnection({ name: 'fixture', url: served.url }, { allowLoopback: true, login, acceptance }));
		await connect().loadTools();
		await login.logIn();
		expect((await call(await connect().loadTools(), 'see')).output).toBe('seen');
		served.revoke();
		const tools = await connect().loadTools();
		expect(tools.map(({ name }) => name)).toEqual(['fixture_see']);
		expect(isAskUser((await call(tools, 'see')).output)).toBe(true);
	});

	it('never gets the token of another server', async () => {
		const other = keep(await serve(() => new Response('', { status: 500 })));
		const served = keep(await serveBehindLogin(() => true));
		const login = new BrowserLogin(served.url);
		const connection = keep(createConnection({ name: 'fixture', url: served.url }, { allowLoopback: true, login }));
		await connection.loadTools();
		await login.logIn();
		const { access_token: token = '' } = login.tokens() ?? {};
		await keep(createConnection({ name: 'other', url: other.url }, { allowLoopback: true })).loadTools();
		expect(other.requests.length).toBeGreaterThan(0);
		expect(JSON.stringify(other.requests.map(({ headers }) => [...headers]))).not.toContain(token);
	});
});
