import type { Context } from 'hono';
import type { Hono } from 'hono/tiny';
import type * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { findNearest } from '../../core/base/text.ts';
import { type Operation, pathParameters } from '../wire/operation.ts';
import { assertMay, assertScope, isAdmin, type RouteEnv } from './identity.ts';
import { jsonBody } from './request.ts';

export interface Route {
	readonly operation: Operation;
	handle(c: Context<RouteEnv>): Promise<Response>;
}

type Valid<O extends Operation> = {
	out: (O extends { readonly json: infer S extends v.GenericSchema } ? { json: v.InferOutput<S> } : object) &
		(O extends { readonly query: infer S extends v.GenericSchema } ? { query: v.InferOutput<S> } : object);
};

/** Refuses callers without access, and checks the query and the body: `c.req.valid` returns the results. */
export function mount<const O extends Operation>(
	operation: O,
	handler: (c: Context<RouteEnv, O['path'], Valid<O>>) => Response | Promise<Response>,
): Route {
	return {
		operation,
		async handle(c: Context<RouteEnv, O['path'], Valid<O>>) {
			await checkRequest(c, operation);
			return handler(c);
		},
	};
}

/** Adds routes to an app. A path answers the methods that no route has with `405`. */
export function addRoutes(app: Hono<RouteEnv>, routes: readonly Route[]): void {
	for (const [path, ofPath] of Map.groupBy(routes, ({ operation }) => toPattern(operation.path))) {
		for (const route of ofPath) app.on(route.operation.method.toUpperCase(), path, (c) => route.handle(c));
		const methods = ofPath.map(({ operation }) => operation.method.toUpperCase());
		app.all(path, (c) => refuseMethod(c, methods));
	}
}

function toPattern(path: string): string {
	return path.replace(/:(\w+)/g, (parameter, name: string) =>
		pathParameters[name]?.hasSlashes ? `${parameter}{[\\s\\S]+}` : parameter,
	);
}

function refuseMethod(c: Context<RouteEnv>, allowed: readonly string[]): never {
	const list = allowed.join(', ');
	c.header('allow', list);
	throw new RunletError('method_not_allowed', `${c.req.method} is not possible here. Possible: ${list}.`, { allowed });
}

async function checkRequest(c: Context<RouteEnv>, operation: Operation): Promise<void> {
	const { query, json, ignoresQuery } = operation;
	assertAccess(c, operation);
	if (ignoresQuery === undefined) assertQuery(new URL(c.req.url).searchParams, Object.keys(query?.entries ?? {}));
	if (query !== undefined) c.req.addValidatedData('query', check(query, c.req.query(), 'query'));
	if (json !== undefined)
		c.req.addValidatedData('json', await jsonBody(c.req.raw, json, (text) => c.set('bodyText', text)));
}

/** The session checks its owner later, and the handler of webhooks the signature. */
function assertAccess(c: Context<RouteEnv>, { access, adminToo, path }: Operation): void {
	if (access === 'anybody' || access === 'sender' || (adminToo && isAdmin(c))) return;
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

/** Quotes a name that is no plain word, and escapes control characters of the terminal. */
function toShown(name: string): string {
	const start = name.slice(0, 64);
	if (/^[\w.-]+$/.test(start)) return start;
	return JSON.stringify(start).replace(
		/[^\x20-\x7e]/g,
		(sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
	);
}
