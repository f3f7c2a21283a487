/**
 * The server at the address that `runlet dev` prints. It passes requests to the Worker without waiting for their
 * end. It refuses a foreign `Host`, and removes headers that control Wrangler.
 */

import {
	createServer,
	type IncomingHttpHeaders,
	type IncomingMessage,
	type OutgoingHttpHeaders,
	request,
	type Server,
	type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import { type Duplex, Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { localHeader } from '../../cloudflare/auth/local.ts';
import { maxLines } from '../../cloudflare/wire/import.ts';
import { bodyTooLarge } from '../../cloudflare/wire/limits.ts';
import { RunletError, toResponse } from '../../core/base/errors.ts';
import { toCommand } from '../project.ts';
import type { Address } from './dev-server.ts';
import type { AnswerLine } from './output.ts';
import { createStackTranslator } from './stack.ts';

export interface ProxyOptions {
	/** The secret that shows the Worker that a request came through this proxy. Not sent if missing. */
	readonly secret: string | undefined;
	/** Returns the Worker's address. Waits for a starting Worker. Throws the error of a Worker that does not run. */
	readonly findAddress: () => Promise<Address>;
	/** Whether every `Host` is refused except the names of this machine. */
	readonly onlyLoopback: boolean;
	/** Translates positions of the built Worker in a text to the sources. */
	readonly translate?: (text: string) => string;
	/** Called when an answer starts. */
	readonly onAnswer?: (line: AnswerLine) => void;
	/** Answers a request in place of the Worker. Returns undefined for a request to the Worker. */
	readonly answerFirst?: (req: IncomingMessage) => Promise<Response | undefined>;
	/** A certificate and its key, for an https address. */
	readonly tls?: ServerOptions;
	/** The maximum size of a body of unknown length, which is kept in memory. The default is the Worker's own limit. */
	readonly maxBytes?: number;
}

/** Makes the server. It does not listen yet. */
export function createProxy(options: ProxyOptions): Server {
	const settings = { keepAliveTimeout: 65_000, maxHeaderSize: 65_536 };
	const answer = (req: IncomingMessage, res: ServerResponse) => void handle(req, res, options);
	const server =
		options.tls === undefined
			? createServer(settings, answer)
			: createSecureServer({ ...settings, ...options.tls }, answer);
	return server.on('upgrade', (req, socket, head) => void connect(req, socket, head, options));
}

/** Passes on a WebSocket. If there is no connection to the Worker, closes it without an answer. */
async function connect(req: IncomingMessage, socket: Duplex, head: Buffer, options: ProxyOptions): Promise<void> {
	socket.on('error', () => socket.destroy());
	try {
		assertAllowed(req, options);
		const address = await options.findAddress();
		const { upgrade } = req.headers;
		const outgoing = request({
			...{ host: '127.0.0.1', port: address.port, method: req.method, path: req.url, setHost: false, agent: false },
			headers: { ...toHeaders(req, options.secret, address), connection: 'Upgrade', upgrade },
		});
		socket.once('close', () => outgoing.destroy());
		outgoing.on('error', () => socket.destroy());
		outgoing.once('response', async (answer) => {
			writeHead(socket, answer, { ...answer.headers, connection: 'close' });
			await pipeline(answer, socket).catch(() => {});
		});
		outgoing.once('upgrade', (answer, inner, first) => {
			writeHead(socket, answer, answer.headers);
			socket.write(first);
			inner.write(head);
			pipeline(inner, socket, inner).catch(() => socket.destroy());
		});
		outgoing.end();
	} catch {
		socket.destroy();
	}
}

function writeHead(socket: Duplex, { statusCode, statusMessage }: IncomingMessage, headers: IncomingHttpHeaders): void {
	const lines = Object.entries(headers).flatMap(([name, value = []]) =>
		[value].flat().map((one) => `${name}: ${one}\r\n`),
	);
	socket.write(`HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`);
}

type Report = (status: number) => void;

async function handle(req: IncomingMessage, res: ServerResponse, options: ProxyOptions): Promise<void> {
	const began = performance.now();
	const report = (status: number): void => {
		const [path = ''] = (req.url ?? '').split('?');
		options.onAnswer?.({ method: req.method ?? '', path, status, ms: performance.now() - began });
	};
	try {
		assertAllowed(req, options);
		const answer = await options.answerFirst?.(req);
		if (answer === undefined) await passOn(req, res, options, report);
		else await sendOwn(res, answer, report);
	} catch (error) {
		if (res.headersSent || res.destroyed) return void res.destroy();
		await sendOwn(res, toResponse(error), report).catch(() => {});
	}
}

/** Sends an answer that is not from the Worker. */
async function sendOwn(res: ServerResponse, answer: Response, report: Report): Promise<void> {
	const body = Buffer.from(await answer.arrayBuffer());
	const own = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', 'content-length': body.length };
	report(answer.status);
	await send(res, answer.status, { ...Object.fromEntries(answer.headers), ...own }, [Readable.from([body])]);
}

/** The host names by which a browser reaches only this machine. */
const loopbackHost = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i;

/** Wrangler's own paths, which no page may call: to start a schedule, to reload, to show Wrangler's pages. */
const ownPath = /^\/+cdn-cgi(\/|$)/i;

function assertAllowed({ url = '', headers }: IncomingMessage, { onlyLoopback }: ProxyOptions): void {
	if (onlyLoopback && !loopbackHost.test(headers.host ?? '')) {
		throw new RunletError(
			'forbidden',
			`Host: this address answers under the names of this machine only, such as http://127.0.0.1 or http://localhost with the port that was printed at the start. ${toCommand('dev', '--keys')} answers under any name, to who has a key.`,
			{ field: 'Host' },
		);
	}
	if (!url.startsWith('/') && url !== '*')
		throw new RunletError('invalid_request', 'path: expected one that begins with /.');
	const isPage = headers.origin !== undefined || !['none', undefined].includes(headers['sec-fetch-site']);
	if (ownPath.test(url) && isPage)
		throw new RunletError('forbidden', 'A page may not ask for what is under /cdn-cgi. Use curl.');
}

/** Sends the request to the Worker. Sends it again if it is safe to repeat and Wrangler died before the answer. */
async function passOn(req: IncomingMessage, res: ServerResponse, options: ProxyOptions, report: Report): Promise<void> {
	for (let attempt = 1; ; attempt++) {
		const address = await options.findAddress();
		try {
			return await forward(req, res, address, options, report);
		} catch (error) {
			if (res.headersSent || res.destroyed || error instanceof RunletError) throw error;
			// Node can parse this request, but cannot send it.
			if (error instanceof TypeError)
				throw new RunletError(
					'invalid_request',
					'The request cannot be passed on: its path or a header has characters that no URL or header may have.',
					undefined,
					{ cause: error },
				);
			const isUnsent = error instanceof Error && Reflect.get(error, 'code') === 'ECONNREFUSED';
			const isSafe = isUnsent || req.method === 'GET' || req.method === 'HEAD';
			if (attempt < 3 && isSafe && !req.readableDidRead) continue;
			throw new RunletError(
				'overloaded',
				'The server was started again before it had answered. What was asked may have been done: look before you ask again.',
				{ retryAfter: 1 },
				{ cause: error },
			);
		}
	}
}

/** Sends a request to the Worker and passes on the answer, both with backpressure. Rejects if there is no answer. */
async function forward(
	req: IncomingMessage,
	res: ServerResponse,
	address: Address,
	{ secret, translate, maxBytes = maxLines }: ProxyOptions,
	report: Report,
): Promise<void> {
	const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
	// If the Worker refuses an upload of unknown length, it closes the connection, and its answer may get lost.
	const body = req.headers['transfer-encoding'] === undefined ? undefined : await readWhole(req, maxBytes);
	const outgoing = request({
		...{ host: '127.0.0.1', port: address.port, method: req.method, path: req.url, setHost: false },
		// Each request has a connection of its own: workerd closes idle connections, and loses a request that comes then.
		agent: false,
		headers: { ...toHeaders(req, secret, address), ...(body !== undefined && { 'content-length': body.length }) },
	});
	outgoing.once('response', resolve);
	outgoing.on('error', reject);
	outgoing.once('close', () => reject(new Error('closed without an answer')));
	res.once('close', () => outgoing.destroy());
	const sendBody = () => {
		if (body !== undefined) return outgoing.end(body);
		if (!req.complete) outgoing.flushHeaders();
		return req.pipe(outgoing);
	};
	// Nothing is sent before the connection is open, so until then the request can be sent again.
	outgoing.once('socket', (socket) => socket.once('connect', sendBody));
	try {
		const answer = await promise;
		const status = answer.statusCode ?? 502;
		report(status);
		const { 'content-type': type, 'content-encoding': encoding } = answer.headers;
		const isEvents = type?.startsWith('text/event-stream') === true && encoding === undefined;
		const steps = isEvents && translate !== undefined ? [createStackTranslator(translate)] : [];
		res.sendDate = false;
		res.statusMessage = answer.statusMessage ?? '';
		await send(res, status, withoutHops(answer.headers), [answer, ...steps]);
	} finally {
		req.unpipe(outgoing);
	}
}

/** Reads a body. Throws `too_large` for a body above the limit. */
async function readWhole(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of req.iterator({ destroyOnReturn: false })) {
		length += chunk.length;
		if (length > maxBytes) throw bodyTooLarge(maxBytes);
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

/** How long the rest of a refused body is read, in milliseconds. */
const lateMs = 1_000;

async function send(
	res: ServerResponse,
	status: number,
	headers: OutgoingHttpHeaders,
	[first, ...steps]: readonly [NodeJS.ReadableStream, ...NodeJS.ReadWriteStream[]],
): Promise<void> {
	const { req } = res;
	// If the connection stayed open, the server would read the rest of this request as the next request.
	if (!req.complete) res.shouldKeepAlive = false;
	res.writeHead(status, headers);
	res.flushHeaders();
	// If an answer breaks off at the Worker, it must break off here, too.
	await pipeline([first, ...steps, res], { end: false });
	// Closing the connection at once would lose the answer.
	if (!req.complete) await Promise.race([finished(req.resume()), pause(lateMs)]).catch(() => {});
	res.end();
}

/** The headers of a connection, which are not passed on (RFC 9110, 7.6.1). */
const hops =
	/^(connection|expect|http2-settings|keep-alive|proxy-(authenticate|authorization|connection)|te|trailer|transfer-encoding|upgrade)$/;

function withoutHops(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
	return Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.test(name)));
}

/** Headers that only Wrangler, Cloudflare and this proxy may set. */
const inner = /^(mf-|cf-|x-runlet-local)/;

/** Returns the headers for the Worker: the caller's own headers, the caller's address, and the secret of this proxy. */
function toHeaders(
	{ url, headers, socket }: IncomingMessage,
	secret: string | undefined,
	{ isSecure }: Address,
): OutgoingHttpHeaders {
	const { host = 'localhost', ...own } = withoutHops(headers);
	return {
		host,
		...Object.fromEntries(Object.entries(own).filter(([name]) => !inner.test(name))),
		'cf-connecting-ip': (socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, ''),
		...(secret !== undefined && { [localHeader]: secret }),
		...(isSecure && url?.startsWith('/') && { 'mf-original-url': `https://${host}${url}` }),
	};
}
