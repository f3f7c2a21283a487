import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { readConfig } from '../config/config.ts';
import { reach } from '../objects/reach.ts';
import { type RpcResult, takeValue } from '../objects/result.ts';
import type { Caller, SessionApi } from '../objects/session-api.ts';
import { getCaller, getCallerOrAdmin, type RouteEnv } from './identity.ts';

/** Milliseconds in which a session must accept a request and answer a read. */
const limitMs = 20_000;

/**
 * Asks a session for a value. Retries a read, a change to a fixed value, or a request with an `Idempotency-Key`. The
 * answer to a message comes when its run ends, so it has no time limit. Throws the session's failure.
 */
export async function askSession<T>(
	c: Context<RouteEnv>,
	id: ReturnType<ReturnType<typeof readConfig>['sessions']['idFromString']>,
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

/** A key with the scope admin may call the session of any owner. */
export function findCallerOrAdmin(c: Context<RouteEnv>): Caller {
	return { ...getCallerOrAdmin(c, c.req.param('id') ?? ''), deadline: Date.now() + limitMs };
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
	const { sessions } = readConfig(c.env);
	try {
		return sessions.idFromString(c.req.param('id') ?? '');
	} catch {
		throw new RunletError('not_found', 'There is no such session.');
	}
}

/** Returns undefined for a session that does not exist, or no longer. */
export async function orGone<T>(answer: Promise<T>): Promise<T | undefined> {
	try {
		return await answer;
	} catch (error) {
		if (error instanceof RunletError && error.code === 'not_found') return undefined;
		throw error;
	}
}

/** Returns the name that makes a session's id. The same chat id of two users means two sessions. */
export function toSessionName(
	{ owner, user }: { readonly owner: string; readonly user?: string },
	...parts: readonly string[]
): string {
	return JSON.stringify([owner, user ?? null, ...parts]);
}
