/** The server behind the address that `npm start` prints, in front of one that says what reached it. */
import { once } from 'node:events';
import { createServer, IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createProxy, type ProxyOptions, type Proxy as Standing } from '../../src/command/dev/proxy.ts';
import { createUploads } from '../../src/command/dev/upload.ts';
import { RunletError } from '../../src/core/ground/errors.ts';

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

const tell: Handler = (req, res) => {
	res.setHeader('content-type', 'application/json');
	res.end(JSON.stringify({ path: req.url, headers: req.headers }));
};

async function stand(
	handler: Handler = tell,
	options: Partial<ProxyOptions> = {},
): Promise<{ proxy: Standing; port: number; url: string }> {
	const inner = await listen(createServer(handler));
	const findAddress = async () => ({ port: inner, isSecure: false });
	const proxy = createProxy({ secret: 'the-secret', findAddress, onlyLoopback: true, ...options });
	const port = await listen(proxy.server);
	return { proxy, port, url: `http://127.0.0.1:${port}` };
}

/** What comes back for bytes that no client would send. */
async function raw(port: number, text: string): Promise<string> {
	const socket = connect(port, '127.0.0.1');
	socket.write(text);
	let answer = '';
	for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
	return answer;
}

const get = (port: number, host: string, more = '', path = '/v1/agents') =>
	raw(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);

test('a request under a name that is not of this machine is refused, whatever else it says', async () => {
	const { port } = await stand();
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

test('headers that steer Wrangler, and the secret, are taken out of what comes from outside', async () => {
	const { url, port } = await stand();
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

test('a page cannot have Wrangler do its own things', async () => {
	const { url } = await stand();
	const path = `${url}/cdn-cgi/handler/scheduled`;
	expect((await fetch(path)).status).toBe(200);
	expect((await fetch(path, { headers: { origin: 'http://localhost:3000' } })).status).toBe(403);
	expect((await fetch(path, { headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
	expect((await fetch(`${url}//cdn-cgi/handler/scheduled`, { headers: { origin: 'null' } })).status).toBe(403);
});

test('an upload that breaks off never reaches the server behind, and one that does not reaches it whole', async () => {
	const reached: string[] = [];
	const { url, port } = await stand(async (req, res) => {
		let body = '';
		for await (const piece of req.setEncoding('utf8')) body += piece;
		reached.push(`${req.headers['content-length']} ${body}`);
		res.end();
	});
	for (const framing of ['Content-Length: 100', 'Transfer-Encoding: chunked']) {
		const socket = connect(port, '127.0.0.1');
		await once(socket, 'connect');
		socket.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n\r\n5\r\nhal`);
		const gone = once(socket, 'close');
		socket.destroy();
		await gone;
	}
	await fetch(url, { method: 'POST', body: 'whole' });
	expect(reached).toEqual(['5 whole']);
});

test.each([
	['a declared length', 'Content-Length: 1000', '{'],
	['a declared length and nothing of it', 'Content-Length: 1000', ''],
	['chunks', 'Transfer-Encoding: chunked', '5\r\nhello\r\n'],
])('an upload that stands still is refused in our form, and its connection closed: %s', async (_, framing, piece) => {
	let reached = 0;
	const lines: number[] = [];
	const { url, port } = await stand(
		(_req, res) => {
			reached++;
			res.end();
		},
		{ limits: { silenceMs: 50 }, onAnswer: ({ status }) => lines.push(status) },
	);
	// The answer is read to the end of the connection, which its sender never closes.
	const answer = await raw(port, `POST / HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n\r\n${piece}`);
	expect(answer).toMatch(/^HTTP\/1.1 408 /);
	expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toEqual({
		error: { code: 'timeout', message: expect.stringContaining('nothing came for 0.05 seconds') },
	});
	expect([reached, lines]).toEqual([0, [408]]);
	expect((await fetch(url)).status).toBe(200);
});

test('an upload that is slow, but never stands still for so long, arrives', async () => {
	vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
	try {
		const req = new IncomingMessage(new Socket());
		req.headers['content-length'] = '5';
		const upload = createUploads()(req);
		for (const letter of 'whole') {
			req.push(letter);
			await new Promise((resolve) => setImmediate(resolve));
			vi.advanceTimersByTime(20_000);
		}
		req.push(null);
		expect((await upload)?.length).toBe(5);
	} finally {
		vi.useRealTimers();
	}
});

/** A request whose body is sent piece by piece; `answer` is all that comes back until the connection is closed. */
async function sending(port: number, head: string) {
	const socket = connect(port, '127.0.0.1');
	await once(socket, 'connect');
	socket.write(`${head}\r\nHost: localhost\r\n`);
	const closed = once(socket, 'close');
	let answer = '';
	socket.setEncoding('utf8').on('data', (text: string) => {
		answer += text;
	});
	socket.on('error', () => {});
	return { socket, answer: () => closed.then(() => answer), first: once(socket, 'data').then(String) };
}

/** A server behind the proxy that keeps its answers back until it is told to give them. */
function patient() {
	const reached: string[] = [];
	const answers: (() => void)[] = [];
	const handler: Handler = async (req, res) => {
		let body = '';
		for await (const piece of req.setEncoding('utf8')) body += piece;
		reached.push(`${req.url} ${body}`);
		answers.push(() => res.end('done'));
		arrived.resolve();
		arrived = Promise.withResolvers<void>();
	};
	let arrived = Promise.withResolvers<void>();
	return { reached, answers, handler, next: () => arrived.promise };
}

describe('an upload that cannot become an answer is refused while it is sent, and reaches nobody:', () => {
	const cases: readonly (readonly [
		what: string,
		head: string,
		sent: string,
		limits: object,
		status: number,
		says: string,
	])[] = [
		['one that says it is too long', 'Content-Length: 11', '', { bytes: 10 }, 413, 'body: more than 10 bytes'],
		[
			'one that becomes too long',
			'Transfer-Encoding: chunked',
			'b\r\nhello world\r\n',
			{ bytes: 10 },
			413,
			'body: more',
		],
		['one of too many bytes at once', 'Content-Length: 99', 'hello world', { bytesHeld: 10 }, 503, 'Too many uploads'],
		['one too many', 'Content-Length: 99', '', { count: 0 }, 503, 'Too many uploads'],
	];
	test.each(cases)('%s', async (_, framing, sent, limits, status, says) => {
		const { reached, handler } = patient();
		const { port } = await stand(handler, { limits });
		const { socket, answer } = await sending(port, 'POST / HTTP/1.1');
		socket.write(`${framing}\r\n\r\n${sent}`);
		const text = await answer();
		expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
		expect(text).toContain(says);
		expect(reached).toEqual([]);
	});

	test('one that never stands still, and never ends', async () => {
		const { reached, handler } = patient();
		const { port } = await stand(handler, { limits: { totalMs: 100, silenceMs: 60_000 } });
		const { socket, answer } = await sending(port, 'POST / HTTP/1.1');
		socket.write('Transfer-Encoding: chunked\r\n\r\n');
		const drip = setInterval(() => socket.write('1\r\n.\r\n'), 5);
		const text = await answer();
		clearInterval(drip);
		expect(text).toMatch(/^HTTP\/1.1 408 /);
		expect(text).toContain('it was not whole after 0.1 seconds');
		expect(reached).toEqual([]);
	});

	test('one under a foreign name is refused', async () => {
		const { port } = await stand();
		const head = 'POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 99\r\n\r\n';
		expect(await raw(port, head)).toMatch(/^HTTP\/1.1 403 /);
	});
});

test('a sender that goes on sending what is refused is answered all the same', async () => {
	const { url } = await stand(tell, { limits: { bytes: 1_000 } });
	const response = await fetch(url, { method: 'POST', body: Buffer.alloc(5_000_000) });
	expect([response.status, JSON.parse(await response.text())]).toMatchObject([413, { error: { code: 'too_large' } }]);
});

test('bytes of uploads count until the answer begins, over all connections', async () => {
	const { reached, answers, handler, next } = patient();
	const { url } = await stand(handler, { limits: { bytesHeld: 10 } });
	const post = (body: string) => fetch(url, { method: 'POST', body });
	const arrived = next();
	const first = post('12345678');
	await arrived;
	expect((await post('12345678')).status).toBe(503);
	answers[0]?.();
	expect((await first).status).toBe(200);
	const again = next();
	const third = post('abcdefgh');
	await again;
	answers[1]?.();
	expect((await third).status).toBe(200);
	expect(reached).toEqual(['/ 12345678', '/ abcdefgh']);
});

describe('what the Worker refuses by its headers is not read:', () => {
	const now = () => Math.floor(Date.now() / 1_000);
	const slack = (at: number) => `X-Slack-Request-Timestamp: ${at}\r\nX-Slack-Signature: v0=${'ab'.repeat(32)}`;
	const body = '{"a":"whole body"}';
	const cases: readonly (readonly [what: string, path: string, more: string, hasKeys: boolean, isRead: boolean])[] = [
		['a webhook without a signature', '/v1/webhooks/triage/github?x=1', 'X: y', false, false],
		['a webhook with a signature that is too old', '/v1/webhooks/triage/slack', slack(now() - 1_000), false, false],
		['but a webhook with a signature is', '/v1/webhooks/triage/slack', slack(now()), false, true],
		['but one of an unknown source is', '/v1/webhooks/triage/other', 'X: y', false, true],
		['a request without a key, where keys are needed', '/v1/sessions', 'X: y', true, false],
		['but one with a key is', '/v1/sessions', 'X-Api-Key: k', true, true],
		['but one without a key is, where none is needed', '/v1/sessions', 'X: y', false, true],
	];
	test.each(cases)('%s', async (_, path, more, hasKeys, isRead) => {
		const { reached, answers, handler, next } = patient();
		const { port } = await stand(handler, hasKeys ? { secret: undefined } : {});
		const { socket, first } = await sending(port, `POST ${path} HTTP/1.1`);
		const arrived = next();
		socket.write(`${more}\r\nContent-Length: ${body.length}\r\n\r\n`);
		if (isRead) socket.write(body);
		await arrived;
		answers[0]?.();
		expect(await first).toMatch(/^HTTP\/1.1 200 /);
		expect(reached).toEqual([`${path} ${isRead ? body : ''}`]);
		socket.destroy();
	});
});

test('an answer flows through piece by piece, byte for byte, and one that breaks off breaks off', async () => {
	let inner: ServerResponse | undefined;
	const { url } = await stand((_, res) => {
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

test('a reader that leaves is gone for the server behind, too', async () => {
	const left = Promise.withResolvers<void>();
	const { url } = await stand((_, res) => {
		res.on('close', left.resolve);
		res.write('data: 1\n\n');
	});
	const leave = new AbortController();
	await fetch(url, { signal: leave.signal });
	leave.abort();
	await left.promise;
});

test('a reader that does not read holds the server behind back', async () => {
	let sent = 0;
	const full = Promise.withResolvers<void>();
	const { port } = await stand((_, res) => {
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
	// Of a thousand megabytes only what fits into the buffers on the way is sent.
	for (let seen = -1; seen !== sent; await new Promise((resolve) => setImmediate(resolve))) seen = sent;
	expect(sent).toBeLessThan(100);
	socket.destroy();
});

test('a request that waits while the sources are broken learns the line of the mistake', async () => {
	const asked = Promise.withResolvers<void>();
	const { proxy, url } = await stand(() => asked.resolve());
	const waiting = fetch(url);
	await asked.promise;
	proxy.refuseWaiting(new RunletError('not_configured', 'src/agents/host.ts:3:1: Unexpected "}"'));
	const response = await waiting;
	expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('src/agents/host.ts:3:1')]);
});

test('a read that was cut off by a death is asked again, a write is not', async () => {
	const reached: string[] = [];
	const { url } = await stand((req, res) => {
		reached.push(req.method ?? '');
		if (reached.length === 1 || req.method === 'POST') req.socket.destroy();
		else res.end('answer');
	});
	expect(await (await fetch(url)).text()).toBe('answer');
	const refused = await fetch(url, { method: 'POST', body: '{}' });
	expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
	expect(reached).toEqual(['GET', 'GET', 'POST']);
});

test('a stack in a stream of events is told in the sources; all else passes as it comes, and as it is', async () => {
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
	const { url } = await stand(handler, { translate });
	const answer = await fetch(url);
	const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
	expect((await reader?.read())?.value).toBe(other);
	goOn();
	let rest = '';
	for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) rest += next.value;
	const translated = stack.replace('file:///w/worker.js:12:3', 'src/agents/mine.ts:12');
	expect(rest).toBe(`${translated.replace('/w/b/worker.js:4:5', 'src/agents/mine.ts:4')}\n: end`);
});
