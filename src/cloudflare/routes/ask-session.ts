import type { Context } from 'hono';
import { config } from '../config/config.ts';
import { reach } from '../rpc/reach.ts';
import { type RpcResult, takeValue } from '../rpc/result.ts';
import type { SessionApi } from '../rpc/session.ts';
import type { RouteEnv } from './identity.ts';

/** What a session has to answer in that is only looked at, in milliseconds. */
const readLimitMs = 20_000;

/**
 * Asks a session's object for a value. Asks again where nothing happens twice: where the session is only read, changed to
 * what the request says, or where the request has an `Idempotency-Key`. The answer to a message comes when its run is
 * over, so it has no time limit. Throws the failure that the session answers.
 */
export async function askSession<T>(
	c: Context<RouteEnv>,
	id: ReturnType<ReturnType<typeof config>['sessions']['idFromString']>,
	ask: (one: SessionApi) => Promise<RpcResult<T>>,
	isSafe = c.req.method !== 'POST' || c.req.header('idempotency-key') !== undefined,
): Promise<T> {
	const { sessions } = config(c.env);
	const timeoutMs = c.req.method === 'GET' ? readLimitMs : undefined;
	return takeValue(await reach(() => ask(sessions.get(id)), { what: 'This session', isSafe, timeoutMs }));
}
