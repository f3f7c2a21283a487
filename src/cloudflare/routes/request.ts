import type { Context } from 'hono';
import type { Hono } from 'hono/tiny';
import * as v from 'valibot';
import { hashText, joinBytes } from '../../core/base/bytes.ts';
import { check } from '../../core/base/check.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { parseJson } from '../../core/base/json.ts';
import { createDeferred } from '../../core/base/promises.ts';
import { findNearest } from '../../core/base/text.ts';
import { readConfig } from '../config/config.ts';
import type { Condition } from '../objects/publisher/api.ts';
import type { Delivery, Handling, RequestOrigin } from '../objects/session-api.ts';
import { type Endpoint, parametersWithSlashes } from '../wire/endpoint.ts';
import { bodyTooLarge, maxBody } from '../wire/limits.ts';
import { parseTraceparent } from '../wire/traceparent.ts';
import { assertMay, assertScope, getPerson, isAdmin, type PersonCaller, type RouteEnv } from './identity.ts';
import { toSessionName } from './respond.ts';

/** Reads and checks a JSON body. A refusal is a 4xx that names the field and the mistake. `onText` gets the raw text, and can replace it. */
async function jsonBody<S extends v.GenericSchema>(
	request: Request,
	schema: S,
	onText: (text: string, parsed: unknown) => unknown,
): Promise<v.InferOutput<S>> {
	const type = readMediaType(request);
	if (type !== '' && type !== 'application/json' && !type.endsWith('+json'))
		throw createWrongType('application/json', type);
	const text = await readText(request);
	if (text.trim() === '') {
		// An empty body is fine if the schema requires nothing.
		const nothing = v.safeParse(schema, {});
		if (nothing.success) return nothing.output;
		throw createFieldError('invalid_request', 'body', 'empty. Send a JSON object.');
	}
	// A request with a body needs a media type.
	if (type === '') throw createWrongType('application/json', type);
	const parsed = parseJson(text);
	await onText(text, parsed);
	return check(schema, parsed, 'body');
}

export function createWrongType(expected: string, type: string): RunletError {
	return createFieldError('unsupported_media_type', 'content-type', `expected ${expected}, got ${type || 'none'}.`);
}

/** The maximum number of bytes in a SKILL.md. */
const maxMarkdown = 1_000_000;

export async function markdownBody(request: Request): Promise<string> {
	const type = readMediaType(request);
	if (type !== 'text/markdown') throw createWrongType('text/markdown', type);
	return readText(request, maxMarkdown);
}

export function readMediaType(request: Request): string {
	return request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
}

export function accepts(c: Context, mediaType: string): boolean {
	const types = (c.req.header('accept') ?? '').toLowerCase().split(',');
	return types.some((type) => type.split(';')[0]?.trim() === mediaType && !/;\s*q=0(\.0*)?\s*$/.test(type));
}

function readDelivery(c: Context): Delivery {
	if (/\brespond-async\b/i.test(c.req.header('prefer') ?? '')) return 'accepted';
	return accepts(c, 'text/event-stream') ? 'stream' : 'result';
}

/** Returns what a run keeps of the request that begins it. */
export function readOrigin(c: Context<RouteEnv>): RequestOrigin {
	return { requestId: c.var.requestId, caller: parseTraceparent(c.req.header('traceparent')) };
}

const keyForm = /^[\x21-\x7e]{1,255}$/;

/**
 * Returns the delivery of a request, and its `Idempotency-Key` with a hash of the request. A key that is sent with a
 * session token never equals a key of the owner. So a page cannot use up a key that its server will send.
 */
export function readHandling(c: Context<RouteEnv>, body: unknown = null): Handling {
	const delivery = readDelivery(c);
	const key = c.req.header('idempotency-key');
	const origin = readOrigin(c);
	if (key === undefined) return { delivery, origin };
	if (!keyForm.test(key))
		throw createFieldError('invalid_request', 'Idempotency-Key', 'expected 1 to 255 visible ASCII characters.');
	const own = c.var.identity.kind === 'token' ? `token ${key}` : key;
	return { delivery, origin, once: { key: own, request: hashText(`${c.req.path} ${JSON.stringify(body)}`) } };
}

/** Returns the id for a new session. A repeated request of the same person with the same key gets the same id. */
export function createSessionId(c: Context<RouteEnv>, { owner, by }: PersonCaller, agent: string, { once }: Handling) {
	const ids = readConfig(c.env).placeSessions({ owner, agent });
	if (once === undefined) return ids.newUniqueId();
	return ids.idFromName(toSessionName({ owner, user: by.user }, 'idempotency', once.key));
}

export async function readText(request: Request, limit = maxBody): Promise<string> {
	try {
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(await readBytes(request, limit));
	} catch (error) {
		if (error instanceof RunletError) throw error;
		throw createFieldError('invalid_request', 'body', 'not valid UTF-8.');
	}
}

/** Reads a body. Counts its bytes, as `Content-Length` can be missing or wrong. Throws `timeout` for a slow body. */
export async function readBytes(
	request: Request,
	limit = maxBody,
	timeoutMs = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
	if (Number(request.headers.get('content-length') ?? 0) > limit) throw bodyTooLarge(limit);
	const chunks: Uint8Array[] = [];
	let length = 0;
	for await (const chunk of readChunks(request.body, timeoutMs)) {
		length += chunk.byteLength;
		if (length > limit) throw bodyTooLarge(limit);
		chunks.push(chunk);
	}
	return joinBytes(...chunks);
}

/** Throws `invalid_request` for a body that is cut off or framed wrongly. */
async function* readChunks(
	body: ReadableStream<Uint8Array> | null,
	timeoutMs: number,
): AsyncGenerator<Uint8Array, void> {
	if (body === null) return;
	const reader = body.getReader();
	const isLate = createDeferred<'late'>();
	const timer = Number.isFinite(timeoutMs) ? setTimeout(() => isLate.resolve('late'), timeoutMs) : undefined;
	try {
		for (;;) {
			const next = await Promise.race([reader.read(), isLate.promise]);
			if (next === 'late') {
				const message = `not whole after ${timeoutMs / 1_000} seconds. Send it again.`;
				throw createFieldError('timeout', 'body', message);
			}
			if (next.done) return;
			yield next.value;
		}
	} catch (cause) {
		if (cause instanceof RunletError) throw cause;
		throw new RunletError(
			'invalid_request',
			'body: ended before it was whole. Send it again.',
			{ field: 'body' },
			{ cause },
		);
	} finally {
		clearTimeout(timer);
		// Stops the body without waiting for the rest.
		reader.cancel().catch(() => {});
	}
}

/** An entity tag (RFC 9110, 8.8.3). */
const tag = /^\s*(W\/)?"([\x21\x23-\x7e]*)"\s*$/;

/** Reads `If-Match` and `If-None-Match` of a change (RFC 9110, 13.1). */
export function readCondition(c: Context): Condition {
	const match = c.req.header('if-match');
	const noneMatch = c.req.header('if-none-match');
	if (noneMatch !== undefined && noneMatch.trim() !== '*')
		throw createFieldError('invalid_request', 'If-None-Match', 'only * is possible where something is changed.');
	return {
		...(match !== undefined && { ifMatch: match.trim() === '*' ? '*' : strongTags(match) }),
		...(noneMatch !== undefined && { ifNoneMatch: true }),
	};
}

export function isFresh(c: Context, etag: string): boolean {
	const header = c.req.header('if-none-match');
	if (header === undefined) return false;
	return header.split(',').some((entry) => entry.trim() === '*' || tag.exec(entry)?.[2] === etag);
}

function strongTags(header: string): string[] {
	return header.split(',').flatMap((entry) => {
		const parsed = tag.exec(entry);
		if (parsed === null)
			throw createFieldError('invalid_request', 'If-Match', 'expected entity tags in quotes, as ETag has them, or *.');
		return parsed[1] === undefined ? [parsed[2] ?? ''] : [];
	});
}

export interface Route {
	readonly endpoint: Endpoint;
	handle(c: Context<RouteEnv>): Promise<Response>;
}

type Valid<E extends Endpoint> = {
	out: (E extends { readonly json: infer S extends v.GenericSchema } ? { json: v.InferOutput<S> } : object) &
		(E extends { readonly query: infer S extends v.GenericSchema } ? { query: v.InferOutput<S> } : object);
};

/** Refuses callers without access, and checks the query and the body: `c.req.valid` returns the results. */
export function mount<const E extends Endpoint>(
	endpoint: E,
	handler: (c: Context<RouteEnv, E['path'], Valid<E>>) => Response | Promise<Response>,
): Route {
	return {
		endpoint,
		async handle(c: Context<RouteEnv, E['path'], Valid<E>>) {
			await checkRequest(c, endpoint);
			return handler(c);
		},
	};
}

/** Adds routes to an app. If a path has no route for the method of a request, the answer is `405`. */
export function addRoutes(app: Hono<RouteEnv>, routes: readonly Route[]): void {
	for (const [path, ofPath] of Map.groupBy(routes, ({ endpoint }) => toPattern(endpoint.path))) {
		for (const route of ofPath) app.on(route.endpoint.method.toUpperCase(), path, (c) => route.handle(c));
		const methods = ofPath.map(({ endpoint }) => endpoint.method.toUpperCase());
		app.all(path, (c) => refuseMethod(c, methods));
	}
}

function toPattern(path: string): string {
	return path.replace(/:(\w+)/g, (parameter, name: string) =>
		parametersWithSlashes.includes(name) ? `${parameter}{[\\s\\S]+}` : parameter,
	);
}

function refuseMethod(c: Context<RouteEnv>, allowed: readonly string[]): never {
	const list = allowed.join(', ');
	c.header('allow', list);
	throw new RunletError('method_not_allowed', `${c.req.method} is not possible here. Possible: ${list}.`, { allowed });
}

async function checkRequest(c: Context<RouteEnv>, endpoint: Endpoint): Promise<void> {
	const { query, json, ignoresQuery, namesFiles } = endpoint;
	assertAccess(c, endpoint);
	if (ignoresQuery === undefined) assertQuery(new URL(c.req.url).searchParams, Object.keys(query?.entries ?? {}));
	if (query !== undefined) c.req.addValidatedData('query', check(query, c.req.query(), 'query'));
	if (json !== undefined)
		c.req.addValidatedData(
			'json',
			await jsonBody(c.req.raw, json, (text, parsed) => {
				c.set('bodyText', text);
				return namesFiles && fillFiles(c, parsed, text.length);
			}),
		);
}

/** Puts the caller's files that a body names by their ids into the body. */
async function fillFiles(c: Context<RouteEnv>, body: unknown, bodyBytes: number): Promise<void> {
	const { owner, by } = getPerson(c);
	await c.var.uploads?.fill(readConfig(c.env), { owner, user: by.user }, body, bodyBytes);
}

/** Checks the caller's rights. Later the session checks its owner, and the webhook handler checks the signature. */
function assertAccess(c: Context<RouteEnv>, { access, adminToo, path }: Endpoint): void {
	if (access === 'anybody' || access === 'sender' || access === 'caller' || (adminToo && isAdmin(c))) return;
	if (access === 'admin' || access === 'keys') assertScope(c, access);
	else assertMay(c, access, path.startsWith('/v1/sessions/:id'));
}

/** Suggests the nearest name for an unknown parameter. */
function assertQuery(params: URLSearchParams, known: readonly string[]): void {
	const seen = new Set<string>();
	for (const name of params.keys()) {
		const shown = toShown(name);
		if (!known.includes(name)) {
			const nearest = findNearest(name, known);
			const all = known.length === 0 ? 'This route takes none.' : `Possible: ${[...known].sort().join(', ')}.`;
			const hint = nearest === undefined ? all : `Did you mean ${nearest}?`;
			throw createFieldError('invalid_request', shown, `no such query parameter. ${hint}`);
		}
		if (seen.has(name)) throw createFieldError('invalid_request', shown, 'given twice in the query. Give it once.');
		seen.add(name);
	}
}

/** Quotes a name that is not a plain word, and escapes control characters of the terminal. */
function toShown(name: string): string {
	const start = name.slice(0, 64);
	if (/^[\w.-]+$/.test(start)) return start;
	return JSON.stringify(start).replace(
		/[^\x20-\x7e]/g,
		(sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
	);
}
