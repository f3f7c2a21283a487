import type { Context, MiddlewareHandler } from 'hono';
import type * as v from 'valibot';
import { check } from '../../core/ground/check.ts';
import { RunletError } from '../../core/ground/errors.ts';
import { findNearest } from '../../core/ground/text.ts';
import type { Operation } from '../wire/operation.ts';
import { assertMay, assertScope, isAdmin, type RouteEnv } from './identity.ts';
import { jsonBody } from './request.ts';

/** What `c.req.valid` returns after the check. */
type Taken<O extends Operation> = {
	out: (O extends { readonly json: infer S extends v.GenericSchema } ? { json: v.InferOutput<S> } : object) &
		(O extends { readonly query: infer S extends v.GenericSchema } ? { query: v.InferOutput<S> } : object);
};

/**
 * The middleware of an operation. Refuses callers without access, checks the query and the body against the operation's
 * schemas (`c.req.valid` returns the results).
 */
export function serveOperation<const O extends Operation>(operation: O): MiddlewareHandler<RouteEnv, string, Taken<O>> {
	return async (c, next) => {
		const { query, json, ignoresQuery } = operation;
		assertAccess(c, operation);
		if (ignoresQuery === undefined) assertQuery(new URL(c.req.url).searchParams, Object.keys(query?.entries ?? {}));
		if (query !== undefined) c.req.addValidatedData('query', check(query, c.req.query(), 'query'));
		if (json !== undefined) {
			const body = await jsonBody(c.req.raw, json, (text) => c.set('bodyText', text));
			c.req.addValidatedData('json', body);
		}
		await next();
	};
}

/** Whose session it is and who signed a webhook is checked later, by the session and the handler. */
function assertAccess(c: Context<RouteEnv>, { access, adminToo, path }: Operation): void {
	if (access === 'anybody' || access === 'sender' || (adminToo && isAdmin(c))) return;
	if (access === 'admin' || access === 'keys') assertScope(c, access);
	else assertMay(c, access, path.startsWith('/v1/sessions/:id'));
}

/** Refuses an unknown parameter and suggests the nearest known name. */
function assertQuery(given: URLSearchParams, known: readonly string[]): void {
	const seen = new Set<string>();
	for (const name of given.keys()) {
		const shown = toShown(name);
		if (!known.includes(name)) {
			const nearest = findNearest(name, known);
			const all = known.length === 0 ? 'This route takes none.' : `Possible: ${[...known].sort().join(', ')}.`;
			const hint = nearest === undefined ? all : `Did you mean ${nearest}?`;
			throw new RunletError('invalid_request', `${shown}: no such query parameter. ${hint}`, { field: shown });
		}
		if (seen.has(name))
			throw new RunletError('invalid_request', `${shown}: given twice in the query. Give it once.`, { field: shown });
		seen.add(name);
	}
}

/**
 * Returns a sent name as it is if it is a plain word. Quotes any other name and removes terminal control characters.
 */
function toShown(name: string): string {
	const start = name.slice(0, 64);
	if (/^[\w.-]+$/.test(start)) return start;
	return JSON.stringify(start).replace(
		/[^\x20-\x7e]/g,
		(sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
	);
}
