import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { vi } from 'vitest';

interface FakeTool {
	readonly description?: string;
	readonly inputSchema?: Readonly<Record<string, unknown>>;
	readonly call: (input: Readonly<Record<string, unknown>>, request: Request) => unknown;
}

/** A fake MCP server. Tests may change its tools. */
export interface FakeServer {
	tools: Record<string, FakeTool>;
	readonly requests: Request[];
	/** If this function returns a response, the response is the answer instead of the server’s answer. */
	refuse: (request: Request) => Response | Promise<Response> | undefined;
}

const sites = new Map<string, (request: Request) => Response | Promise<Response>>();

/** Replaces the web until `vi.restoreAllMocks`. Unknown names fail like an unknown host. */
export function fakeTheWeb(): void {
	sites.clear();
	const real = globalThis.fetch;
	vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
		const request = new Request(input instanceof Request ? input : String(input), init);
		const { hostname } = new URL(request.url);
		if (!hostname.endsWith('.example.com')) return real(request);
		const site = sites.get(hostname);
		if (site === undefined) throw new TypeError(`no such name: ${hostname}`);
		return site(request);
	});
}

export function serveSite(host: string, answer: (request: Request) => Response | Promise<Response>): void {
	sites.set(host, answer);
}

export function serveTools(host: string, tools: Record<string, FakeTool>): FakeServer {
	const fake: FakeServer = { tools, requests: [], refuse: () => undefined };
	serveSite(host, async (request) => {
		fake.requests.push(request.clone());
		const refused = await fake.refuse(request);
		if (refused !== undefined) return refused;
		return createMcpHandler(() => createServer(fake, request)).fetch(request);
	});
	return fake;
}

function createServer(fake: FakeServer, request: Request): Server {
	const server = new Server({ name: 'fake', version: '1' }, { capabilities: { tools: {} } });
	server.setRequestHandler('tools/list', () => ({
		tools: Object.entries(fake.tools).map(([name, { description, inputSchema }]) => ({
			name,
			description,
			inputSchema: { type: 'object' as const, ...inputSchema },
		})),
	}));
	server.setRequestHandler('tools/call', async ({ params }) => {
		const text = await fake.tools[params.name]?.call(params.arguments ?? {}, request);
		return { content: [{ type: 'text' as const, text: String(text) }] };
	});
	return server;
}

/** A fake OAuth 2.1 provider for one MCP server. */
export interface FakeLogin {
	/** Tokens that the server accepts. */
	readonly valid: Set<string>;
	/** The number of refreshes. */
	refreshed: number;
	/** The registered clients. */
	readonly registered: Record<string, unknown>[];
	/** Refresh tokens that were used twice. */
	reused: number;
	/** Whether a client id may be the URL of a document. */
	takesDocuments: boolean;
	/** The requests for tokens. */
	readonly asked: URLSearchParams[];
	/** Logs a person in at a link, like a browser. Returns the URL of the redirect. */
	logIn(link: string): URL;
}

/** Makes an MCP server require a login. */
export function requireLogin(server: FakeServer, host: string, loginHost: string): FakeLogin {
	const resource = `https://${host}/mcp`;
	const issuer = `https://${loginHost}`;
	const codes = new Map<string, string>();
	const refreshes = new Set<string>();
	let count = 0;
	const login: FakeLogin = {
		valid: new Set(),
		refreshed: 0,
		registered: [],
		reused: 0,
		takesDocuments: false,
		asked: [],
		logIn: (link) => {
			const asked = new URL(link).searchParams;
			const code = `code-${++count}`;
			codes.set(code, asked.get('code_challenge') ?? '');
			const back = new URL(asked.get('redirect_uri') ?? '');
			back.searchParams.set('code', code);
			back.searchParams.set('state', asked.get('state') ?? '');
			back.searchParams.set('iss', issuer);
			return back;
		},
	};
	const grant = () => {
		const [access, refresh] = [`access-token-${++count}`, `refresh-token-${count}`];
		login.valid.clear();
		login.valid.add(access);
		refreshes.add(refresh);
		return Response.json({ access_token: access, refresh_token: refresh, token_type: 'Bearer', expires_in: 3_600 });
	};
	server.refuse = (request) => {
		const { pathname } = new URL(request.url);
		if (pathname.startsWith('/.well-known/oauth-protected-resource'))
			return Response.json({ resource, authorization_servers: [issuer], scopes_supported: ['read'] });
		if (pathname !== '/mcp') return new Response(null, { status: 404 });
		const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
		if (login.valid.has(token)) return undefined;
		const challenge = `Bearer resource_metadata="https://${host}/.well-known/oauth-protected-resource/mcp"`;
		return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
	};
	serveSite(loginHost, async (request) => {
		const { pathname } = new URL(request.url);
		if (pathname === '/.well-known/oauth-authorization-server')
			return Response.json({
				issuer,
				authorization_endpoint: `${issuer}/authorize`,
				token_endpoint: `${issuer}/token`,
				registration_endpoint: `${issuer}/register`,
				response_types_supported: ['code'],
				code_challenge_methods_supported: ['S256'],
				token_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
				authorization_response_iss_parameter_supported: true,
				client_id_metadata_document_supported: login.takesDocuments,
			});
		if (pathname === '/register') {
			const client = await request.json<Record<string, unknown>>();
			login.registered.push(client);
			return Response.json({ ...client, client_id: `client-${login.registered.length}` }, { status: 201 });
		}
		if (pathname !== '/token') return new Response(null, { status: 404 });
		const form = new URLSearchParams(new TextDecoder().decode(await request.arrayBuffer()));
		login.asked.push(form);
		if (form.get('grant_type') === 'refresh_token') {
			const given = form.get('refresh_token') ?? '';
			if (!refreshes.delete(given)) {
				login.reused++;
				return Response.json({ error: 'invalid_grant' }, { status: 400 });
			}
			login.refreshed++;
			return grant();
		}
		const challenge = codes.get(form.get('code') ?? '');
		codes.delete(form.get('code') ?? '');
		const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(form.get('code_verifier') ?? ''));
		const made = btoa(String.fromCharCode(...new Uint8Array(digest)))
			.replaceAll('+', '-')
			.replaceAll('/', '_')
			.replaceAll('=', '');
		return challenge === made ? grant() : Response.json({ error: 'invalid_grant' }, { status: 400 });
	});
	return login;
}
