import type { Context, MiddlewareHandler } from 'hono';
import { uniqueSymbol } from 'hono-openapi';
import type * as v from 'valibot';
import { check } from '../check.ts';
import { specOf } from '../openapi/spec.ts';
import type { Access, Operation } from '../wire/operation.ts';
import { assertKey, assertScope, type RouteEnv } from './identity.ts';
import { jsonBody } from './request.ts';

/** What `c.req.valid` gives behind the check. */
type Taken<O extends Operation> = {
	out: (O extends { readonly json: infer S extends v.GenericSchema } ? { json: v.InferOutput<S> } : object) &
		(O extends { readonly query: infer S extends v.GenericSchema } ? { query: v.InferOutput<S> } : object);
};

/**
 * Stands in front of an operation's handler: refuses who may not ask for it, checks the query and the body by the
 * operation's schemas, which `c.req.valid` then gives, and tells hono-openapi what the route is.
 */
export function serves<const O extends Operation>(operation: O): MiddlewareHandler<RouteEnv, string, Taken<O>> {
	const middleware: MiddlewareHandler<RouteEnv, string, Taken<O>> = async (c, next) => {
		const { access, query, json } = operation;
		assertAccess(c, access);
		if (query !== undefined) c.req.addValidatedData('query', check(query, c.req.query(), 'query'));
		if (json !== undefined) c.req.addValidatedData('json', await jsonBody(c.req.raw, json));
		await next();
	};
	return Object.assign(middleware, {
		[uniqueSymbol]: {
			// Only whoever asks for the document pays for it.
			get spec() {
				return specOf(operation);
			},
		},
	});
}

/** Whose session it is, and who sent a webhook, is known only behind. */
function assertAccess(c: Context<RouteEnv>, access: Access): void {
	if (access === 'run' || access === 'admin') assertScope(c, access);
	if (access === 'key') assertKey(c);
}
