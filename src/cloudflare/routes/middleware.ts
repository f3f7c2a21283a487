import type { Context, MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { matchedRoutes } from 'hono/route';
import { findKeyId, type Identity } from '../auth/identity.ts';
import { log, toFailureFields } from '../log.ts';
import { createBusy } from '../objects/reach.ts';
import { formatRequestId, makeRequest } from '../wire/request-id.ts';
import { isAllowedPage, type RouteEnv, type RouteOptions } from './identity.ts';
import { requestIdHeader } from './reader.ts';

/**
 * Lets pages call if `isAllowedPage` allows their origin. Runlet itself uses no cookies. With accounts, cookies of the
 * product are allowed, because `authenticate` can read them.
 */
export function allowOrigins({ authenticate }: RouteOptions) {
	return cors({
		credentials: authenticate !== undefined,
		origin: (origin, c: Context<RouteEnv>) => (isAllowedPage(c, origin) ? origin : null),
		allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
		exposeHeaders: [
			'Content-Disposition',
			'Content-Range',
			'ETag',
			'Idempotent-Replayed',
			'Location',
			'Retry-After',
			'Runlet-Session',
			'WWW-Authenticate',
			'X-Request-Id',
			'X-Vercel-AI-UI-Message-Stream',
		],
		maxAge: 3600,
	});
}

/** A page that needs more rights sets its own headers. The resource policy does not affect CORS requests. */
const headers = {
	'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	'cross-origin-resource-policy': 'same-origin',
	'referrer-policy': 'no-referrer',
	'strict-transport-security': 'max-age=31536000',
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
} as const;

/** Sets the headers before the handler runs, so the answer's body is passed on unchanged. */
export const securityHeaders: MiddlewareHandler = async (c, next) => {
	for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value);
	await next();
};

/** The standard methods (RFC 9110, 9; RFC 5789). Any other method is the caller's own text, and is not logged. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Logs one line for each request when its answer starts: the pattern of its route (never the path), the status, the id
 * of the key, the session, and the `x-request-id` of the answer, which OpenAI's clients show with an error.
 */
export const accessLog: MiddlewareHandler<RouteEnv> = async (c, next) => {
	const began = Date.now();
	const request = makeRequest();
	c.set('requestId', request);
	c.res.headers.set(requestIdHeader, request);
	await next();
	const { method } = c.req;
	const { status } = c.res;
	const route = matchedRoutes(c).findLast(({ path }) => !path.endsWith('*'))?.path;
	// A refused caller has no identity.
	const identity: Identity | undefined = c.get('identity');
	const { session, runId } = c.var;
	log('info', 'http.request', {
		'http.request.method': methods.has(method) ? method : '_OTHER',
		'http.route': route,
		'http.response.status_code': status,
		'runlet.request.id': formatRequestId({ request, session }),
		'runlet.key.id': identity?.kind === 'person' ? findKeyId(identity.by) : undefined,
		'gen_ai.conversation.id': session ?? (identity?.kind === 'token' ? identity.session : undefined),
		'runlet.run.id': runId,
		'runlet.duration_ms': Date.now() - began,
		'error.type': status >= 500 ? String(status) : undefined,
		...(c.error !== undefined && toFailureFields(c.error)),
	});
};

/** How many requests an isolate handles at the same time. Open streams do not count. */
const usualMost = 1_000;

/**
 * Refuses requests while an isolate handles too many at the same time. Only owners with more than an equal share
 * of them are refused, so the burst of one owner does not block the others. A cancellation is never refused.
 */
export function shedFairly(most = usualMost): MiddlewareHandler<RouteEnv> {
	const counts = new Map<string, number>();
	let total = 0;
	return async (c, next) => {
		const whose = toKey(c.var.identity);
		const own = counts.get(whose) ?? 0;
		const owners = counts.size + (own === 0 ? 1 : 0);
		if (total >= most && own >= most / owners && !c.req.path.endsWith('/cancel')) throw createBusy('This Worker');
		counts.set(whose, own + 1);
		total++;
		try {
			await next();
		} finally {
			const left = (counts.get(whose) ?? 1) - 1;
			if (left === 0) counts.delete(whose);
			else counts.set(whose, left);
			total--;
		}
	};
}

/** Returns the name to count a request by. A token counts by its session, because its owner is not known here. */
function toKey(identity: Identity): string {
	return identity.kind === 'person' ? `owner ${identity.by.owner}` : `session ${identity.session}`;
}
