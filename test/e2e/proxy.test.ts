/** The proxy of `npm start`. Behind the proxy, a server reports the requests that it gets. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { createProxy, type ProxyOptions } from '../../src/command/dev/proxy.ts';

const open: Server[] = [];
afterEach(() => {
	for (const server of open.splice(0)) {
		server.closeAllConnections();
		server.close();
	}
});

async function listen(server: Server): Promise<number> {
	open.push(server.listen(0, '127.0.0.1'));
	await once(server, 'listening');
	const address = server.address();
	return typeof address === 'object' && address !== null ? address.port : 0;
}

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

const echo: Handler = (req, res) => {
	res.setHeader('content-type', 'application/json');
	res.end(JSON.stringify({ path: req.url, headers: req.headers }));
};

async function startProxy(
	handler: Handler = echo,
	options: Partial<ProxyOptions> = {},
): Promise<{ port: number; url: string }> {
	const inner = await listen(createServer(handler));
	const findAddress = async () => ({ port: inner, isSecure: false });
	const port = await listen(createProxy({ secret: 'the-secret', findAddress, onlyLoopback: true, ...options }));
	return { port, url: `http://127.0.0.1:${port}` };
}

/** Sends the text and returns all bytes of the answer. */
async function sendRaw(port: number, text: string): Promise<string> {
	const socket = connect(port, '127.0.0.1');
	socket.write(text);
	let answer = '';
	for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
	return answer;
}

const get = (port: number, host: string, more = '', path = '/v1/agents') =>
	sendRaw(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);

test('refuses a request with a foreign Host', async () => {
	const { port } = await startProxy();
	for (const host of [
		'evil.example',
		`evil.example:${port}`,
		`localhost.evil.example:${port}`,
		'127.0.0.1.evil.example',
		'0.0.0.0',
		'[::2]',
		'10.0.0.1',
	])
		expect(await get(port, host, `MF-Original-URL: http://127.0.0.1:${port}/\r\n`), host).toMatch(/^HTTP\/1.1 403 /);
	expect(await get(port, 'localhost', '', 'http://127.0.0.1/v1/agents')).toMatch(/^HTTP\/1.1 400 /);
	for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`])
		expect(await get(port, host), host).toMatch(/^HTTP\/1.1 200 /);
});

test('replaces a guessed secret, and removes the headers that control Wrangler', async () => {
	const { url, port } = await startProxy();
	const sent = {
		'mf-original-url': 'http://evil.example/',
		'MF-Proxy-Shared-Secret': 'x',
		'cf-connecting-ip': '10.9.8.7',
		'x-runlet-local': 'a guess',
		'x-own': 'kept',
	};
	const { headers }: { headers: Record<string, string> } = JSON.parse(
		await (await fetch(url, { headers: sent })).text(),
	);
	expect(headers).toMatchObject({ 'x-own': 'kept', 'x-runlet-local': 'the-secret', 'cf-connecting-ip': '127.0.0.1' });
	expect(headers.host).toBe(`127.0.0.1:${port}`);
	expect(Object.keys(headers).filter((name) => name.startsWith('mf-'))).toEqual([]);
});

test('refuses a request of a web page to a path of Wrangler', async () => {
	const { url } = await startProxy();
	const path = `${url}/cdn-cgi/handler/scheduled`;
	expect((await fetch(path)).status).toBe(200);
	expect((await fetch(path, { headers: { origin: 'http://localhost:3000' } })).status).toBe(403);
	expect((await fetch(path, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
	expect((await fetch(`${url}//cdn-cgi/handler/scheduled`, { headers: { origin: 'null' } })).status).toBe(403);
});

test('forwards an upload piece by piece, and ends the request to the Worker if the upload breaks off', async () => {
	const [arrived, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const { port } = await startProxy((req) => {
		req.on('data', () => arrived.resolve()).on('error', () => aborted.resolve());
	});
	const socket = connect(port, '127.0.0.1');
	socket.write('DELETE / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhello');
	await arrived.promise;
	socket.destroy();
	await aborted.promise;
});

test('forwards an upload of unknown length only when the upload is complete', async () => {
	const reached: string[] = [];
	const { port } = await startProxy(async (req, res) => {
		reached.push(`${req.headers['content-length']} ${await readText(req)}`);
		res.end();
	});
	const head = 'DELETE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
	const body = '5\r\nwhole\r\n0\r\n\r\n';
	const socket = connect(port, '127.0.0.1');
	await once(socket, 'connect');
	socket.write(`${head}${body.slice(0, 4)}`);
	const gone = once(socket, 'close');
	socket.destroy();
	await gone;
	await sendRaw(port, `${head}${body}`);
	expect(reached).toEqual(['5 whole']);
});

test('refuses an upload of unknown length as soon as the upload is too long', async () => {
	const { port } = await startProxy(echo, { maxBytes: 4 });
	const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
	expect(await sendRaw(port, `${head}5\r\nwhole\r\n`)).toMatch(/^HTTP\/1.1 413 .*more than 4 bytes/s);
});

test('forwards an answer before the end of the upload, and closes the connection', async () => {
	const { port } = await startProxy((_, res) => void res.writeHead(413).end('too long'));
	const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n';
	expect(await sendRaw(port, head)).toMatch(/^HTTP\/1.1 413 .*too long/s);
});

test('refuses an upload with a foreign Host before the upload ends', async () => {
	const { port } = await startProxy();
	const head = 'POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 99\r\n\r\n';
	expect(await sendRaw(port, head)).toMatch(/^HTTP\/1.1 403 /);
});

test('forwards an answer piece by piece, and breaks off when the answer breaks off', async () => {
	let inner: ServerResponse | undefined;
	const { url } = await startProxy((_, res) => {
		inner = res;
		res.writeHead(200, { 'content-type': 'text/event-stream', 'set-cookie': ['a=1', 'b=2'] });
		res.flushHeaders();
	});
	const response = await fetch(url);
	expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
	const reader = response.body?.getReader();
	for (const piece of ['data: ü', '\n\n', '\r\n: comment\r\n']) {
		inner?.write(piece);
		expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(piece);
	}
	inner?.destroy();
	await expect(reader?.read()).rejects.toThrow();
});

test('ends the request to the Worker when the reader of the answer disconnects', async () => {
	const left = Promise.withResolvers<void>();
	const { url } = await startProxy((_, res) => {
		res.on('close', left.resolve);
		res.write('data: 1\n\n');
	});
	const leave = new AbortController();
	await fetch(url, { signal: leave.signal });
	leave.abort();
	await left.promise;
});

test('makes the Worker wait while the reader does not read', async () => {
	let sent = 0;
	const full = Promise.withResolvers<void>();
	const { port } = await startProxy((_, res) => {
		const piece = Buffer.alloc(1_000_000);
		const write = (): void => {
			while (sent < 1_000) {
				sent++;
				if (res.write(piece)) continue;
				res.once('drain', write);
				full.resolve();
				break;
			}
		};
		write();
	});
	const socket = connect(port, '127.0.0.1');
	socket.pause();
	socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
	await full.promise;
	// The Worker fills only the buffers between itself and the reader, and does not send all of the thousand
	// megabytes.
	for (let seen = -1; seen !== sent; await new Promise((resolve) => setImmediate(resolve))) seen = sent;
	expect(sent).toBeLessThan(100);
	socket.destroy();
});

test('repeats a read after a crash, but not a write', async () => {
	const reached: string[] = [];
	const { url } = await startProxy((req, res) => {
		reached.push(req.method ?? '');
		if (reached.length === 1 || req.method === 'POST') req.socket.destroy();
		else res.end('answer');
	});
	expect(await (await fetch(url)).text()).toBe('answer');
	const refused = await fetch(url, { method: 'POST', body: '{}' });
	expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
	expect(reached).toEqual(['GET', 'GET', 'POST']);
});

test('repeats a request after a failed connection, but not if it has already read the body', async () => {
	const closed = createServer();
	const dead = await listen(closed);
	closed.close();
	await once(closed, 'close');
	const alive = await listen(createServer(echo));
	let current = dead;
	const findAddress = async () => {
		const address = { port: current, isSecure: false };
		current = alive;
		return address;
	};
	const { url, port } = await startProxy(echo, { findAddress });
	expect((await fetch(url, { method: 'POST', body: 'whole' })).status).toBe(200);
	current = dead;
	const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
	expect(await sendRaw(port, `${head}5\r\nwhole\r\n0\r\n\r\n`)).toMatch(/^HTTP\/1.1 503 /);
});

test('translates a stack in an event stream to source lines, and changes nothing else', async () => {
	const { promise, resolve: goOn } = Promise.withResolvers<void>();
	const stack =
		'data: {"type":"tool_stack","id":"a","stack":"Error: ü\\n    at f (file:///w/worker.js:12:3)\\n    at /w/b/worker.js:4:5"}\n';
	const other = 'data: {"type":"text","text":"worker.js:12:3"}\n\n';
	const pieces = [`${other}${stack.slice(0, 40)}`, stack.slice(40, 90), `${stack.slice(90)}\n: end`];
	const handler: Handler = async (_, res) => {
		res.setHeader('content-type', 'text/event-stream');
		for (const [index, piece] of pieces.entries()) {
			res.write(piece);
			if (index === 0) await promise;
		}
		res.end();
	};
	const translate = (text: string) => text.replace(/[^\s()]*worker\.js:(\d+):\d+/g, 'src/agents/mine.ts:$1');
	const { url } = await startProxy(handler, { translate });
	const answer = await fetch(url);
	const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
	expect((await reader?.read())?.value).toBe(other);
	goOn();
	let rest = '';
	for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) rest += next.value;
	const translated = stack.replace('file:///w/worker.js:12:3', 'src/agents/mine.ts:12');
	expect(rest).toBe(`${translated.replace('/w/b/worker.js:4:5', 'src/agents/mine.ts:4')}\n: end`);
});

describe('a WebSocket', () => {
	const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

	/** Starts a server that opens each connection, reports the headers of its opening, and returns all bytes. */
	async function startEcho(): Promise<number> {
		const server = createServer().on('upgrade', (req, socket, head) => {
			socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
			socket.write(JSON.stringify(req.headers));
			socket.write(head);
			socket.pipe(socket);
		});
		const inner = await listen(server);
		const findAddress = async () => ({ port: inner, isSecure: false });
		return listen(createProxy({ secret: 'the-secret', findAddress, onlyLoopback: true }));
	}

	test('is forwarded in both directions, with the headers of any request', async () => {
		const port = await startEcho();
		const socket = connect(port, '127.0.0.1').setEncoding('utf8');
		socket.write(`GET /v1/responses HTTP/1.1\r\nHost: localhost\r\n${upgrade}x-runlet-local: guessed\r\n\r\nearly`);
		let said = '';
		const until = async (end: string) => {
			while (!said.endsWith(end)) said += (await once(socket, 'data'))[0];
		};
		await until('early');
		expect(said).toMatch(/^HTTP\/1\.1 101 /);
		expect(said).toContain('"upgrade":"websocket"');
		expect(said).toContain('the-secret');
		expect(said).not.toContain('guessed');
		socket.write(' later');
		await until(' later');
		const closed = once(socket, 'close');
		socket.end();
		await closed;
	});

	test('that the Worker refuses gets the answer, and one with a foreign Host gets none', async () => {
		const { port } = await startProxy();
		const ask = (host: string) => sendRaw(port, `GET /v1/responses HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\n`);
		expect(await ask('localhost')).toMatch(/^HTTP\/1\.1 200 [\s\S]*"path":"\/v1\/responses"/);
		expect(await ask('evil.example')).toBe('');
	});
});
