import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildPage } from '../scripts/page.ts';

/** A received request. */
export interface Received {
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
}

/**
 * Starts an HTTP server for tests in workerd. `POST /NAME` takes a webhook. `GET /NAME` returns all received webhooks. `PUT
 * /NAME` sets the statuses of the next answers (then `200`); 0 cuts the connection, -1 never answers, and 429 asks to wait for
 * 600 seconds. `/echo/NAME` answers
 * any request with the request itself; `status`, `type`, `to` (a redirect) and `encoding` in its query change the answer,
 * and `GET /echoed/NAME` returns all requests of `/echo/NAME`. `/shell.js` is the code of the shell.
 */
export default async function setup(project: TestProject) {
	const received = new Map<string, Received[]>();
	const statuses = new Map<string, number[]>();
	const page = mkdtempSync(join(tmpdir(), 'runlet-page-'));
	buildPage(page);
	const server = createServer(async (request, response) => {
		const name = request.url ?? '';
		const chunks: Uint8Array[] = [];
		for await (const chunk of request) if (chunk instanceof Uint8Array) chunks.push(chunk);
		const body = Buffer.concat(chunks).toString('utf8');
		if (name === '/shell.js') return response.end(readFileSync(join(page, 'shell.js')));
		if (name.startsWith('/echo/')) return echo({ request, response, body, received });
		if (request.method === 'GET') return response.end(JSON.stringify(received.get(name) ?? []));
		if (request.method === 'PUT') {
			statuses.set(name, JSON.parse(body));
			return response.end();
		}
		const headers = Object.fromEntries(Object.entries(request.headers).map(([key, value]) => [key, String(value)]));
		received.set(name, [...(received.get(name) ?? []), { headers, body }]);
		const status = statuses.get(name)?.shift() ?? 200;
		if (status === 0) return response.destroy();
		if (status < 0) return undefined;
		return response.writeHead(status, more[status]).end('ignored');
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
	project.provide('receiver', `http://127.0.0.1:${address.port}`);
	return async () => {
		rmSync(page, { recursive: true, force: true });
		server.closeAllConnections();
		server.close();
		await once(server, 'close');
	};
}

/** The headers of some statuses. */
const more: Readonly<Record<number, OutgoingHttpHeaders>> = {
	302: { location: '/redirected' },
	429: { 'retry-after': '600' },
};

function echo({
	request: { method, url = '', headers },
	response,
	body,
	received,
}: {
	readonly request: IncomingMessage;
	readonly response: ServerResponse;
	readonly body: string;
	readonly received: Map<string, Received[]>;
}): void {
	const { pathname, searchParams } = new URL(url, 'http://receiver');
	const key = `/echoed/${pathname.split('/')[2]}`;
	const sent = { method, url, headers, body };
	const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
	received.set(key, [...(received.get(key) ?? []), { headers: own, body: JSON.stringify({ method, url, body }) }]);
	const to = searchParams.get('to');
	if (to !== null) return void response.writeHead(302, { location: to }).end();
	const text = JSON.stringify(sent);
	const encoding = searchParams.get('encoding');
	const type = searchParams.get('type') ?? (encoding === null ? 'application/json' : 'text/plain');
	response.writeHead(Number(searchParams.get('status') ?? 200), { 'content-type': type, 'x-echo': 'yes' });
	response.end(
		encoding === 'base64' ? Buffer.from(text).toString('base64') : encoding === 'uri' ? encodeURIComponent(text) : text,
	);
}

declare module 'vitest' {
	interface ProvidedContext {
		readonly receiver: string;
	}
}
