import type { Context, MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { isAllowedPage, type RouteEnv, type RouteOptions } from './identity.ts';

/**
 * Lets pages call if `CORS_ORIGINS` has their origin. Runlet itself uses no cookies. With accounts those of the product
 * are allowed, because `authenticate` may read cookies.
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

/** A page that needs more rights sets its own headers. CORS requests follow the allow-list, not the resource policy. */
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
