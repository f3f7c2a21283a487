import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { findKeyId } from '../auth/account.ts';
import type { Identity } from '../auth/identity.ts';
import { log, toFailureFields } from '../log.ts';
import type { RouteEnv } from './identity.ts';

/** The standard methods (RFC 9110, 9; RFC 5789). Any other method is text from the caller and is not logged. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Logs one line for each request when its answer starts: the pattern of its route (never the path), the status, the id
 * of the key, and the `x-request-id` of the answer, which OpenAI's clients show with an error.
 */
export const accessLog: MiddlewareHandler<RouteEnv> = async (c, next) => {
	const began = Date.now();
	const requestId = `req_${crypto.randomUUID()}`;
	c.res.headers.set('x-request-id', requestId);
	await next();
	const { method } = c.req;
	const { status } = c.res;
	const route = matchedRoutes(c).findLast(({ path }) => !path.endsWith('*'))?.path;
	// A refused caller has no identity.
	const identity: Identity | undefined = c.get('identity');
	log('info', 'http.request', {
		'http.request.method': methods.has(method) ? method : '_OTHER',
		'http.route': route,
		'http.response.status_code': status,
		'runlet.request.id': requestId,
		'runlet.key.id': identity?.kind === 'person' ? findKeyId(identity.by) : undefined,
		'gen_ai.conversation.id': identity?.kind === 'token' ? identity.session : undefined,
		'runlet.duration_ms': Date.now() - began,
		'error.type': status >= 500 ? String(status) : undefined,
		...(c.error !== undefined && toFailureFields(c.error)),
	});
};
