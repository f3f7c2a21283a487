import type { Context } from 'hono';
import { html } from 'hono/html';
import { RunletError, toResponse } from '../../core/base/errors.ts';
import { readConfig } from '../config/config.ts';
import { type Bytes, type RpcResult, reach, takeValue, toError } from '../objects/reach.ts';
import type { Caller, Original, PassedReader, RunOutcome, SessionApi } from '../objects/session-api.ts';
import { getCaller, getCallerOrAdmin, type RouteEnv } from './identity.ts';
import { noteSession } from './reader.ts';

type Headers = Readonly<Record<string, string>>;

const replayed = 'idempotent-replayed';

interface RunResponse {
	/** The status of an answer with a run's stream or result, or with a session that has no run. */
	readonly status?: number;
	readonly headers?: Headers;
	readonly toFailure?: (error: RunletError) => Response;
}

export function toRunResponse(
	outcome: RunOutcome,
	{ status = 200, headers: extra = {}, toFailure = toResponse }: RunResponse = {},
): Response {
	const headers = { ...extra, ...toReplayHeaders(outcome) };
	switch (outcome.kind) {
		case 'stream':
			return toEventStream(outcome.stream, headers, status);
		case 'accepted':
			return Response.json({ ...outcome.created, runId: outcome.runId }, { status: 202, headers });
		case 'result': {
			const { result, created } = outcome;
			const run = created && { run: { id: result.runId, status: result.status } };
			return Response.json({ ...created, ...run, ...result }, { status, headers });
		}
		case 'completion':
			return Response.json(outcome.completion, { status, headers });
		case 'session':
			return Response.json(outcome.session, { status, headers });
		case 'failed': {
			const response = toFailure(toError(outcome.error));
			for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
			return response;
		}
	}
}

/** Returns the header of a stored answer to a repeated request. */
export function toReplayHeaders({ isReplay }: RunOutcome): Headers {
	return isReplay ? { [replayed]: 'true' } : {};
}

/** Makes an event stream. Its headers keep proxies from buffering the stream. */
export function toEventStream(body: Bytes, headers: Headers = {}, status = 200): Response {
	const own = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };
	return new Response(body, { status, headers: { ...own, ...headers } });
}

export function toJson(body: Bytes, headers: Headers = {}): Response {
	return new Response(body, { headers: { 'content-type': 'application/json', ...headers } });
}

export function writePage(content: unknown) {
	return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Runlet</title>
${content}
</html>`;
}

/** Makes a stream. Each piece is made only when the reader asks for it. */
export function toStream(pieces: AsyncGenerator<string | Uint8Array>): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	return new ReadableStream({
		pull: async (controller) => {
			const { done, value } = await pieces.next();
			if (done) controller.close();
			else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
		},
		cancel: async () => void (await pieces.return(undefined)),
	});
}

/** The time limit, in milliseconds, for a session to answer a read or to accept any other request. */
const limitMs = 20_000;

/** Asks the session that the request is about. The id of the request gets the session's id, unless it is not found. */
export async function askSession<T>(
	c: Context<RouteEnv>,
	id: SessionId,
	ask: (one: SessionApi) => Promise<RpcResult<T>>,
	isSafe?: boolean,
): Promise<T> {
	try {
		const answer = await askOneSession(c, id, ask, isSafe);
		noteSession(c, id.toString(), findRunId(answer));
		return answer;
	} catch (error) {
		// A stranger learns nothing: neither whether the session exists nor whether the id is one of a session.
		const isHidden = error instanceof RunletError && (error.code === 'not_found' || error.code === 'auth');
		if (!isHidden) noteSession(c, id.toString());
		throw error;
	}
}

/** Asks a session for the events of a run. If the session has very many readers, the events come from a relay. */
export async function askEvents(
	c: Context<RouteEnv>,
	id: SessionId,
	ask: (one: SessionApi) => Promise<RpcResult<Bytes | PassedReader | undefined>>,
): Promise<Bytes | undefined> {
	const answer = await askSession(c, id, ask);
	if (answer === undefined || !('relay' in answer)) return answer;
	const relay = readConfig(c.env).placeSessions(answer).idFromName(answer.relay);
	return askOneSession(c, relay, (one) => one.relay(answer));
}

/** Returns the run that the answer of a session names. */
function findRunId(answer: unknown): string | undefined {
	const runId: unknown = Reflect.get(Object(answer), 'runId');
	return typeof runId === 'string' ? runId : undefined;
}

type SessionId = ReturnType<ReturnType<typeof readConfig>['sessions']['idFromString']>;

/**
 * Asks one of several sessions for a value. Repeats failed calls, but by default no `POST` without an `Idempotency-Key`. Only a `GET`
 * has a time limit, because the answer to a message arrives when its run ends. Throws the session's failure.
 */
export async function askOneSession<T>(
	c: Context<RouteEnv>,
	id: SessionId,
	ask: (one: SessionApi) => Promise<RpcResult<T>>,
	isSafe = c.req.method !== 'POST' || c.req.header('idempotency-key') !== undefined,
): Promise<T> {
	const { sessions } = readConfig(c.env);
	const timeoutMs = c.req.method === 'GET' ? limitMs : undefined;
	return takeValue(await reach(() => ask(sessions.get(id)), { what: 'This session', isSafe, timeoutMs }));
}

export function findCaller(c: Context<RouteEnv>): Caller {
	return { ...getCaller(c, c.req.param('id') ?? ''), deadline: Date.now() + limitMs };
}

/** A caller with the scope admin can call the session of any owner. */
export function findCallerOrAdmin(c: Context<RouteEnv>): Caller {
	return { ...getCallerOrAdmin(c, c.req.param('id') ?? ''), deadline: Date.now() + limitMs };
}

/** Returns the session in the path as the original of a copy, which may take long. */
export function findOriginal(c: Context<RouteEnv>, at?: number): Original {
	return { session: findSessionId(c).toString(), at, caller: { ...findCaller(c), deadline: undefined } };
}

/** Throws `not_found` for an id that Runlet did not create. */
export function askSessionInPath<T>(
	c: Context<RouteEnv>,
	call: (one: SessionApi) => Promise<RpcResult<T>>,
	isSafe?: boolean,
): Promise<T> {
	return askSession(c, findSessionId(c), call, isSafe);
}

export function findSessionId(c: Context<RouteEnv>) {
	return toSessionId(c, c.req.param('id') ?? '');
}

/** Throws `not_found` for an id that Runlet did not create. */
export function toSessionId(c: Context<RouteEnv>, id: string) {
	const { sessions } = readConfig(c.env);
	try {
		return sessions.idFromString(id);
	} catch {
		throw new RunletError('not_found', 'There is no such session.');
	}
}

/** Returns undefined for a session that does not exist or was removed. */
export async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
	try {
		return await answer;
	} catch (error) {
		if (error instanceof RunletError && error.code === 'not_found') return undefined;
		throw error;
	}
}

/** Returns the name from which a session's id is made. The same chat id of two users means two sessions. */
export function toSessionName(
	{ owner, user }: { readonly owner: string; readonly user?: string },
	...parts: readonly string[]
): string {
	return JSON.stringify([owner, user ?? null, ...parts]);
}
