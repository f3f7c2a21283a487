import type { Context } from 'hono';
import type { Identity } from '../auth/identity.ts';
import type { Reader } from '../wire/shown-error.ts';
import { hasAdminKey, isHere, isOnlyLocal, type RouteEnv } from './identity.ts';

/** Returns who reads the answer to a request. Nobody who is not identified is an operator. */
export function getReader(c: Context<RouteEnv>): Reader {
	const identity: Identity | undefined = c.get('identity');
	const isOperator = identity?.kind === 'person' && identity.role === 'admin';
	return { isOperator, id: c.res.headers.get('x-request-id') ?? undefined };
}

/**
 * Returns who reads an error, also one that comes before the caller is identified: a key with the role admin, and everybody
 * where only this machine is answered, are operators.
 */
export async function findReader(c: Context<RouteEnv>): Promise<Reader> {
	const reader = getReader(c);
	if (reader.isOperator || c.get('identity') !== undefined) return reader;
	try {
		return { ...reader, isOperator: isOnlyLocal(c) || isHere(c) || (await hasAdminKey(c)) };
	} catch {
		// The key is not known, or the variable of the keys is wrong.
		return reader;
	}
}
