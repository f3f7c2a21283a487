import type { Context } from 'hono';
import { readConfig } from '../config/config.ts';
import { reach } from '../objects/reach.ts';
import { type RpcResult, takeValue } from '../objects/result.ts';
import type { SessionApi } from '../objects/session-api.ts';
import type { RouteEnv } from './identity.ts';

/** Milliseconds in which a session must answer a read. */
const readLimitMs = 20_000;

/**
 * Asks a session's object for a value. Retries only if a retry changes nothing: for a read, for a change to a fixed
 * value, or for a request with an `Idempotency-Key`. The answer to a message comes when its run ends, so it has no time
 * limit. Throws the session's failure.
 */
export async function askSession<T>(
	c: Context<RouteEnv>,
	id: ReturnType<ReturnType<typeof readConfig>['sessions']['idFromString']>,
	ask: (one: SessionApi) => Promise<RpcResult<T>>,
	isSafe = c.req.method !== 'POST' || c.req.header('idempotency-key') !== undefined,
): Promise<T> {
	const { sessions } = readConfig(c.env);
	const timeoutMs = c.req.method === 'GET' ? readLimitMs : undefined;
	return takeValue(await reach(() => ask(sessions.get(id)), { what: 'This session', isSafe, timeoutMs }));
}
