import type { MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Identity } from '../auth/identity.ts';
import { log, toFailureFields } from '../log.ts';
import type { RouteEnv } from './identity.ts';

/** Methods that there are (RFC 9110, 9; RFC 5789); any other word is the caller's. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * A line a request, when its answer begins: its route as a pattern and never its path, its status, whose key it was, and
 * the id that the answer has as `x-request-id`, which clients of OpenAI show with an error.
 */
export const accessLog: MiddlewareHandler<RouteEnv> = async (c, next) => {
	const began = Date.now();
	const requestId = `req_${crypto.randomUUID()}`;
	c.res.headers.set('x-request-id', requestId);
	await next();
	const { method } = c.req;
	const { status } = c.res;
	const route = matchedRoutes(c).findLast(({ path }) => !path.endsWith('*'))?.path;
	// Who was refused has none.
	const identity: Identity | undefined = c.get('identity');
	log('info', 'http.request', {
		'http.request.method': methods.has(method) ? method : '_OTHER',
		'http.route': route,
		'http.response.status_code': status,
		'runlet.request.id': requestId,
		'runlet.key.id': identity?.kind === 'key' ? identity.keyId : undefined,
		'gen_ai.conversation.id': identity?.kind === 'token' ? identity.session : undefined,
		'runlet.duration_ms': Date.now() - began,
		'error.type': status >= 500 ? String(status) : undefined,
		...(c.error !== undefined && toFailureFields(c.error)),
	});
};
