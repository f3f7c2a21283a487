import type { Context } from 'hono';
import type { Identity } from '../auth/identity.ts';
import { formatRequestId } from '../wire/request-id.ts';
import type { Reader } from '../wire/shown-error.ts';
import { hasAdminKey, isHere, isOnlyLocal, type RouteEnv } from './identity.ts';

export const requestIdHeader = 'x-request-id';

/** Adds the session that a request is about to the request's id. The log has the session and its run, too. */
export function noteSession(c: Context<RouteEnv>, session: string, runId = c.var.runId): void {
	c.set('session', session);
	c.set('runId', runId);
	c.res.headers.set(requestIdHeader, formatRequestId({ request: c.var.requestId, session }));
}

/** Returns the id of the request, as its answer shows it. */
export function getRequestId(c: Context<RouteEnv>): string {
	return c.res.headers.get(requestIdHeader) ?? c.var.requestId;
}

/** Returns the reader of an error. A caller that is not identified is not an operator. */
export function getReader(c: Context<RouteEnv>): Reader {
	const identity: Identity | undefined = c.get('identity');
	const isOperator = identity?.kind === 'person' && identity.role === 'admin';
	return { isOperator, id: c.res.headers.get(requestIdHeader) ?? undefined };
}

/** Returns an error's reader. The caller is possibly unidentified. Every caller of a local Worker is an operator. */
export async function findReader(c: Context<RouteEnv>): Promise<Reader> {
	const reader = getReader(c);
	if (reader.isOperator || c.get('identity') !== undefined) return reader;
	try {
		return { ...reader, isOperator: isOnlyLocal(c) || isHere(c) || (await hasAdminKey(c)) };
	} catch {
		// The key is unknown, or `API_KEYS` is wrong.
		return reader;
	}
}
