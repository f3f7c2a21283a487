/**
 * The server at the address that `runlet dev` prints. It passes requests to `wrangler dev` unchanged, except for harmful
 * ones: a foreign `Host`, headers that control Wrangler, and incomplete uploads.
 */

import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { localHeader } from '../../cloudflare/auth/local.ts';
import { sources } from '../../cloudflare/wire/protocols/webhooks/index.ts';
import { assertSigned } from '../../cloudflare/wire/protocols/webhooks/signature.ts';
import { RunletError, toResponse } from '../../core/ground/errors.ts';
import { toCommand } from '../project.ts';
import type { Address } from './dev-server.ts';
import { createStackTranslator, isEventStream } from './event-stacks.ts';
import type { AnswerLine } from './output.ts';
import { createUploads, noBody, type Upload, type UploadLimits } from './upload.ts';

export interface ProxyOptions {
	/** The secret that shows the Worker that a request came through this proxy. Not sent if missing. */
	readonly secret: string | undefined;
	/**
	 * Returns the Worker's address. Waits for a starting Worker. Throws a `RunletError` that says why it does not run.
	 */
	readonly findAddress: () => Promise<Address>;
	/** The path that Runlet stands under in the Worker. */
	readonly basePath?: string;
	/** Whether every `Host` is refused except the names of this machine. */
	readonly onlyLoopback: boolean;
	/** Translates positions of the built Worker in a text to the sources. */
	readonly translate?: (text: string) => string;
	/** Called when an answer starts. */
	readonly onAnswer?: (line: AnswerLine) => void;
	/** A certificate and its key, for an https address. */
	readonly tls?: ServerOptions;
	/** Limits of uploads that differ from the defaults. */
	readonly limits?: Partial<UploadLimits>;
}

export interface Proxy {
	/** The server. It does not listen yet. */
	readonly server: Server;
	/** Answers all requests that wait for the Worker's answer with this error. */
	readonly refuseWaiting: (error: RunletError) => void;
}

export function createProxy(options: ProxyOptions): Proxy {
	// Well below the five seconds after which workerd closes an idle connection: a request at that moment is lost.
	const agent = new Agent({ keepAlive: true, timeout: 4_000, maxSockets: Number.POSITIVE_INFINITY });
	const settings = { keepAliveTimeout: 65_000, maxHeaderSize: 65_536 };
	const waiting = new Set<(error: RunletError) => void>();
	const way: Way = { ...options, agent, waiting, readUpload: createUploads(options.limits, options.basePath) };
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
		// Without a connection there is nobody to answer.
		if (upload !== undefined) await passOn(req, res, upload, way);
	} catch (error) {
		await fail(res, error, report);
	} finally {
		upload?.release();
	}
}

/** The host names by which a browser reaches only this machine. */
const loopbackHost = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i;

/** Wrangler's own paths, which no page may call: to start a schedule, to reload, to show Wrangler's pages. */
const ownPath = /^\/+cdn-cgi(\/|$)/i;

function assertAllowed({ url = '', headers }: IncomingMessage, { onlyLoopback }: Way): void {
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

const credentials = ['authorization', 'x-api-key', 'api-key'];

/**
 * Whether the Worker refuses a request by its headers alone: an unsigned webhook or, if keys are needed, a request
 * without a key. The proxy does not wait for the body of such a request.
 */
function isHopeless({ url = '', headers }: IncomingMessage, { secret, basePath = '' }: Way): boolean {
	const [path = ''] = url.split('?');
	if (!path.startsWith(`${basePath}/v1/`)) return false;
	if (!path.startsWith(`${basePath}/v1/webhooks/`))
		return secret === undefined && credentials.every((name) => !headers[name]);
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

/** Asks the Worker. Tries once more if Wrangler died before its answer and the request is safe to repeat. */
async function passOn(req: IncomingMessage, res: ServerResponse, upload: Upload, way: Way & Told): Promise<void> {
	const isSafe = req.method === 'GET' || req.method === 'HEAD';
	for (let attempt = 1; !res.destroyed; attempt++) {
		const address = await way.findAddress();
		try {
			// Tries again over a new connection.
			const agent = attempt === 1 && way.agent;
			return await forwardRequest(req, res, upload, { ...way, agent, address });
		} catch (error) {
			if (res.headersSent) return void res.destroy();
			if (error instanceof RunletError) throw error;
			// Node can parse this request but not write it.
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

/** Sends one request and passes on its answer with backpressure. Rejects if there is no answer. */
function forwardRequest(
	req: IncomingMessage,
	res: ServerResponse,
	upload: Upload,
	{ address, agent, secret, waiting, report, translate }: Way & Told & { readonly address: Address },
): Promise<void> {
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	const { method, url: path } = req;
	const headers = toHeaders(req, upload, secret, address);
	const asked = request({ host: '127.0.0.1', port: address.port, agent, method, path, headers, setHost: false });
	const leave = () => void asked.destroy();
	// A request that breaks off during its upload would crash Wrangler. It is left alone until the answer starts.
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
		// There is no second try.
		upload.release();
		// Nobody waits for the answer any more.
		if (res.destroyed || res.headersSent) return resolve(leave());
		res.once('close', leave);
		res.sendDate = false;
		report(answer.statusCode ?? 502);
		const isWhole = closeUnlessWhole(res);
		res.writeHead(answer.statusCode ?? 502, answer.statusMessage, withoutHops(answer.rawHeaders).flat());
		res.flushHeaders();
		// An answer that breaks off at the Worker breaks off here too.
		const steps = translate !== undefined && isEventStream(answer) ? [createStackTranslator(translate)] : [];
		pipeline([answer, ...steps, res], { end: isWhole }).then(
			() => resolve(isWhole ? undefined : endLate(res)),
			() => resolve(),
		);
	});
	for (const chunk of upload.chunks) asked.write(chunk);
	asked.end();
	return promise;
}

/** The headers of a connection, which are not passed on (RFC 9110, 7.6.1). */
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

/** Headers that only Wrangler, Cloudflare and this proxy may set. */
const inner = /^(mf-|cf-|x-runlet-local)/;

/** Returns the headers for the Worker: the caller's own, its address, and the secret of this proxy. */
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

/** Sends an error in Runlet's form, if the caller is still connected. */
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

/** Whether the request has arrived completely. If not, its rest would be read as the next request. */
function closeUnlessWhole(res: ServerResponse): boolean {
	if (!res.req.complete) res.shouldKeepAlive = false;
	return res.req.complete;
}

/** Milliseconds that a sender may continue to send a refused body. */
const lateMs = 1_000;

/**
 * Ends an answer that was written before its request was read. Closing the connection at once would lose the answer.
 */
function endLate(res: ServerResponse): void {
	if (res.req.readableEnded) return void res.end();
	const timer = setTimeout(() => res.end(), lateMs);
	res.once('close', () => clearTimeout(timer));
	res.req.once('end', () => res.end()).resume();
}
