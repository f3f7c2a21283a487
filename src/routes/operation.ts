import type { Env, MiddlewareHandler } from 'hono';
import { uniqueSymbol } from 'hono-openapi';
import type * as v from 'valibot';
import { check } from '../check.ts';
import { specOf } from '../openapi/spec.ts';
import type { Operation } from '../wire/operation.ts';
import { jsonBody } from './request.ts';

/** What `c.req.valid` gives behind the check. */
type Taken<O extends Operation> = {
	out: (O extends { readonly json: infer S extends v.GenericSchema } ? { json: v.InferOutput<S> } : object) &
		(O extends { readonly query: infer S extends v.GenericSchema } ? { query: v.InferOutput<S> } : object);
};

/**
 * Stands in front of an operation's handler: checks the body and the query by the operation's schemas, which
 * `c.req.valid` then gives, and tells hono-openapi what the route is.
 */
export function serves<const O extends Operation, E extends Env>(operation: O): MiddlewareHandler<E, string, Taken<O>> {
	const middleware: MiddlewareHandler<E, string, Taken<O>> = async (c, next) => {
		const { query, json } = operation;
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
