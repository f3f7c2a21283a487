/**
 * The server behind the address that `npm start` prints. It stands in front of `wrangler dev` and passes everything on as it
 * is, but what would harm: a foreign `Host`, headers that steer Wrangler, uploads that break off.
 */

import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { localHeader } from '../../src/cloudflare/auth/local.ts';
import { sources } from '../../src/cloudflare/webhooks/index.ts';
import { assertSigned } from '../../src/cloudflare/webhooks/verify.ts';
import { RunletError, toResponse } from '../../src/core/ground/errors.ts';
import type { Address } from './dev-server.ts';
import { createUploads, noBody, type Upload, type UploadLimits } from './upload.ts';

export interface ProxyOptions {
	/** Tells the Worker that a request came through here; without one it is told nothing. */
	readonly secret: string | undefined;
	/** Where the Worker is asked; waits a moment for one that is starting. Throws a `RunletError` that says why it does not run. */
	readonly findAddress: () => Promise<Address>;
	/** Refuses every `Host` but the names of this machine. */
	readonly onlyLoopback: boolean;
	/** Told of each answer when it begins. */
	readonly onAnswer?: (line: AnswerLine) => void;
	/** A certificate and its key, where the address is an https one. */
	readonly tls?: ServerOptions;
	/** How much of uploads is read, and for how long, where it is not as usual. */
	readonly limits?: Partial<UploadLimits>;
}

/** One request, for a person to read. */
export interface AnswerLine {
	readonly method: string;
	/** Without its query, which may hold a secret. */
	readonly path: string;
	readonly status: number;
	readonly ms: number;
}

export interface Proxy {
	/** Not yet listening. */
	readonly server: Server;
	/** Answers with this error whoever waits for the Worker's answer to begin. */
	readonly refuseWaiting: (error: RunletError) => void;
}

export function createProxy(options: ProxyOptions): Proxy {
	// Well below the five seconds after which workerd closes a connection that nobody uses: one that it closes just then loses its request.
	const agent = new Agent({ keepAlive: true, timeout: 4_000, maxSockets: Number.POSITIVE_INFINITY });
	const settings = { keepAliveTimeout: 65_000, maxHeaderSize: 65_536 };
	const waiting = new Set<(error: RunletError) => void>();
	const way: Way = { ...options, agent, waiting, readUpload: createUploads(options.limits) };
	const answer = (req: IncomingMessage, res: ServerResponse) => void handle(req, res, way);
	const server =
		options.tls === undefined
			? createServer(settings, answer)
			: createSecureServer({ ...settings, ...options.tls }, answer);
	return {
		server,
		refuseWaiting: (error) => {
			for (const refuse of waiting) refuse(error);
		},
	};
}

interface Way extends ProxyOptions {
	readonly agent: Agent | false;
	readonly waiting: Set<(error: RunletError) => void>;
	readonly readUpload: (req: IncomingMessage) => Promise<Upload | undefined>;
}

type Report = (status: number) => void;
type Told = { readonly report: Report };

async function handle(req: IncomingMessage, res: ServerResponse, shared: Way): Promise<void> {
	const began = performance.now();
	const report = (status: number): void => {
		const [path = ''] = (req.url ?? '').split('?');
		shared.onAnswer?.({ method: req.method ?? '', path, status, ms: performance.now() - began });
	};
	const way = { ...shared, report };
	let upload: Upload | undefined;
	try {
		assertAllowed(req, way);
		upload = isHopeless(req, way) ? noBody : await way.readUpload(req);
		// Without one nobody is there to be answered.
		if (upload !== undefined) await passOn(req, res, upload, way);
	} catch (error) {
		await fail(res, error, report);
	} finally {
		upload?.release();
	}
}

/** Names by which a browser reaches this machine and no other. */
const loopbackHost = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i;

/** What no page may have Wrangler do: to start a schedule, to reload, to show its own pages. */
const ownPath = /^\/+cdn-cgi(\/|$)/i;

function assertAllowed({ url = '', headers }: IncomingMessage, { onlyLoopback }: Way): void {
	if (onlyLoopback && !loopbackHost.test(headers.host ?? '')) {
		throw new RunletError(
			'forbidden',
			'Host: this address answers under the names of this machine only, such as http://127.0.0.1 or http://localhost with the port that npm start printed. npm start -- --keys answers under any name, to who has a key.',
			{ field: 'Host' },
		);
	}
	if (!url.startsWith('/') && url !== '*')
		throw new RunletError('invalid_request', 'path: expected one that begins with /.');
	const isPage = headers.origin !== undefined || !['none', undefined].includes(headers['sec-fetch-site']);
	if (ownPath.test(url) && isPage)
		throw new RunletError('forbidden', 'A page may not ask for what is under /cdn-cgi. Use curl.');
}

const credentials = ['authorization', 'x-api-key', 'api-key'];

/**
 * Whether the headers alone are enough for the Worker to refuse a request: a webhook that is not signed, or, where keys are
 * needed, a request without one. Its body is not waited for, and the Worker answers without it.
 */
function isHopeless({ url = '', headers }: IncomingMessage, { secret }: Way): boolean {
	const [path = ''] = url.split('?');
	if (!path.startsWith('/v1/')) return false;
	if (!path.startsWith('/v1/webhooks/')) return secret === undefined && credentials.every((name) => !headers[name]);
	const source = Object.values(sources).find(({ name }) => path.endsWith(`/${name}`));
	if (source === undefined) return false;
	try {
		const own = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
		assertSigned(source, new Headers(own), { now: Date.now() });
		return false;
	} catch {
		return true;
	}
}

/** Asks the Worker, and once more where Wrangler died before it answered and asking again changes nothing. */
async function passOn(req: IncomingMessage, res: ServerResponse, upload: Upload, way: Way & Told): Promise<void> {
	const isSafe = req.method === 'GET' || req.method === 'HEAD';
	for (let attempt = 1; !res.destroyed; attempt++) {
		const address = await way.findAddress();
		try {
			// Again, but over a connection that nobody used before.
			const agent = attempt === 1 && way.agent;
			return await forwardRequest(req, res, upload, { ...way, agent, address });
		} catch (error) {
			if (res.headersSent) return void res.destroy();
			if (error instanceof RunletError) throw error;
			// What Node's parser takes, but not its writer.
			if (error instanceof TypeError)
				throw new RunletError(
					'invalid_request',
					'The request cannot be passed on: its path or a header has characters that no URL or header may have.',
					undefined,
					{ cause: error },
				);
			const isUnsent = error instanceof Error && Reflect.get(error, 'code') === 'ECONNREFUSED';
			if (attempt < 3 && (isSafe || isUnsent)) continue;
			throw new RunletError(
				'overloaded',
				'The server was started again before it had answered. What was asked may have been done: look before you ask again.',
				{ retryAfter: 1 },
				{ cause: error },
			);
		}
	}
}

/** One request and its answer, at the answer's pace. Rejects where there is no answer. */
function forwardRequest(
	req: IncomingMessage,
	res: ServerResponse,
	upload: Upload,
	{ address, agent, secret, waiting, report }: Way & Told & { readonly address: Address },
): Promise<void> {
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	const { method, url: path } = req;
	const headers = toHeaders(req, upload, secret, address);
	const asked = request({ host: '127.0.0.1', port: address.port, agent, method, path, headers, setHost: false });
	const leave = () => void asked.destroy();
	// One that breaks off while its upload is read would end Wrangler: it is left once the answer begins.
	const leaveEarly = upload.length === 0 ? leave : () => {};
	const refuseWaiting = (error: RunletError) => {
		reject(error);
		leaveEarly();
	};
	res.once('close', leaveEarly);
	waiting.add(refuseWaiting);
	asked.on('error', reject);
	asked.once('close', () => {
		waiting.delete(refuseWaiting);
		reject(new Error('closed without an answer'));
	});
	asked.once('response', (answer) => {
		waiting.delete(refuseWaiting);
		// It is not asked again.
		upload.release();
		// Nobody waits for it any more.
		if (res.destroyed || res.headersSent) return resolve(leave());
		res.once('close', leave);
		res.sendDate = false;
		report(answer.statusCode ?? 502);
		const isWhole = closeUnlessWhole(res);
		res.writeHead(answer.statusCode ?? 502, answer.statusMessage, withoutHops(answer.rawHeaders).flat());
		res.flushHeaders();
		// An answer that breaks off breaks off here, too.
		pipeline(answer, res, { end: isWhole }).then(
			() => resolve(isWhole ? undefined : endLate(res)),
			() => resolve(),
		);
	});
	for (const chunk of upload.chunks) asked.write(chunk);
	asked.end();
	return promise;
}

/** What belongs to a connection and not to what is said over it (RFC 9110, 7.6.1). */
const hops = new Set([
	'connection',
	'expect',
	'http2-settings',
	'keep-alive',
	'proxy-authenticate',
	'proxy-authorization',
	'proxy-connection',
	'te',
	'trailer',
	'transfer-encoding',
	'upgrade',
]);

function withoutHops(rawHeaders: readonly string[]): [name: string, value: string][] {
	const pairs: [string, string][] = [];
	for (let index = 0; index < rawHeaders.length; index += 2)
		pairs.push([rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '']);
	const named = pairs.flatMap(([name, value]) => (name.toLowerCase() === 'connection' ? value.split(',') : []));
	const dropped = new Set(named.map((name) => name.trim().toLowerCase()));
	return pairs.filter(([name]) => !hops.has(name.toLowerCase()) && !dropped.has(name.toLowerCase()));
}

/** Headers that only Wrangler, Cloudflare and this proxy may say. */
const inner = /^(mf-|cf-|x-runlet-local)/;

/** What the Worker is told: the caller's own headers, who it is, and that it came through here. */
function toHeaders(
	req: IncomingMessage,
	upload: Upload,
	secret: string | undefined,
	{ isSecure }: Address,
): Record<string, string | string[]> {
	const headers: Record<string, string | string[]> = {};
	for (const [given, value] of withoutHops(req.rawHeaders)) {
		const name = given.toLowerCase();
		if (name === 'host' || name === 'content-length' || inner.test(name)) continue;
		headers[name] = [...[headers[name] ?? []].flat(), value];
	}
	headers.host = req.headers.host ?? 'localhost';
	headers['cf-connecting-ip'] = (req.socket.remoteAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
	if (secret !== undefined) headers[localHeader] = secret;
	if (isSecure && req.url?.startsWith('/')) headers['mf-original-url'] = `https://${headers.host}${req.url}`;
	if (upload.isGiven) headers['content-length'] = String(upload.length);
	return headers;
}

/** An error in Runlet's own form, to whoever is still there. */
async function fail(res: ServerResponse, error: unknown, report: Report): Promise<void> {
	if (res.headersSent || res.destroyed) return void res.destroy();
	const answer = toResponse(error);
	const body = Buffer.from(await answer.arrayBuffer());
	const headers = { ...Object.fromEntries(answer.headers), 'x-content-type-options': 'nosniff' };
	report(answer.status);
	const isWhole = closeUnlessWhole(res);
	res.writeHead(answer.status, { ...headers, 'content-length': body.length });
	res.write(body);
	if (isWhole) res.end();
	else endLate(res);
}

/** Whether all of the request is here; else what is still to come would be taken for the next one. */
function closeUnlessWhole(res: ServerResponse): boolean {
	if (!res.req.complete) res.shouldKeepAlive = false;
	return res.req.complete;
}

/** How long a sender may go on sending what nobody wants, in milliseconds. */
const lateMs = 1_000;

/** Ends an answer that was written before its request was read: a connection that is closed on a sender loses the answer. */
function endLate(res: ServerResponse): void {
	if (res.req.readableEnded) return void res.end();
	const timer = setTimeout(() => res.end(), lateMs);
	res.once('close', () => clearTimeout(timer));
	res.req.once('end', () => res.end()).resume();
}
