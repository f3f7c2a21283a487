import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
	createMcpHandler,
	type McpServer,
	WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** A server on this machine, and its requests. */
export interface Served {
	readonly url: string;
	/** The received JSON-RPC methods, in order. */
	readonly methods: string[];
	readonly requests: { readonly method: string; readonly headers: Headers; readonly body: string }[];
	close(): Promise<void>;
}

type Answer = (request: Request) => Response | Promise<Response>;

/** Serves requests over HTTP on a free port. A thrown error cuts the connection. */
export async function serve(answer: Answer): Promise<Served> {
	const methods: string[] = [];
	const requests: Served['requests'] = [];
	const server = createServer((incoming, outgoing) => {
		handle(incoming, outgoing, async (request) => {
			const body = request.method === 'POST' ? await request.clone().text() : '';
			requests.push({ method: request.method, headers: request.headers, body });
			const method = /"method":"([\w/]+)"/.exec(body)?.[1];
			if (method !== undefined) methods.push(method);
			return answer(request);
		}).catch(() => outgoing.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	// SAFETY: the address of a server on a TCP port is an `AddressInfo`.
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}/mcp`,
		methods,
		requests,
		close: () => {
			server.closeAllConnections();
			return new Promise((resolve) => server.close(() => resolve()));
		},
	};
}

/** Serves revision 2026-07-28, and serves revision 2025-11-25 without sessions. */
export function serveStateless(create: () => McpServer): Promise<Served> {
	const handler = createMcpHandler(create);
	return serve((request) => handler.fetch(request));
}

/** Serves revision 2025-11-25 with sessions. `forget` drops them. */
export async function serveSessions(create: () => McpServer): Promise<Served & { forget(): void }> {
	const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
	const served = await serve(async (request) => {
		const id = request.headers.get('mcp-session-id');
		const known = id === null ? undefined : sessions.get(id);
		if (known !== undefined) return known.handleRequest(request);
		if (id !== null) return new Response('no such session', { status: 404 });
		const transport = new WebStandardStreamableHTTPServerTransport({
			sessionIdGenerator: () => crypto.randomUUID(),
			onsessioninitialized: (session) => void sessions.set(session, transport),
		});
		await create().connect(transport);
		return transport.handleRequest(request);
	});
	return { ...served, forget: () => sessions.clear() };
}

async function handle(incoming: IncomingMessage, outgoing: ServerResponse, answer: Answer): Promise<void> {
	const chunks: Buffer[] = [];
	for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
	const { method = 'GET', url = '/' } = incoming;
	const headers = new Headers();
	for (const [name, value] of Object.entries(incoming.headers))
		if (value !== undefined) headers.set(name, String(value));
	const gone = new AbortController();
	outgoing.on('close', () => gone.abort());
	const hasBody = method !== 'GET' && method !== 'HEAD' && chunks.length > 0;
	const request = new Request(new URL(url, `http://${incoming.headers.host}`), {
		method,
		headers,
		signal: gone.signal,
		...(hasBody && { body: Buffer.concat(chunks) }),
	});
	const response = await answer(request);
	outgoing.writeHead(response.status, Object.fromEntries(response.headers));
	outgoing.flushHeaders();
	const reader = response.body?.getReader();
	gone.signal.addEventListener('abort', () => void reader?.cancel().catch(() => {}));
	for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read())
		outgoing.write(next.value);
	outgoing.end();
}
