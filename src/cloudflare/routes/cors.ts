import type { Context } from 'hono';
import { cors } from 'hono/cors';
import { isAllowedPage, type RouteEnv, type RouteOptions } from './identity.ts';

/**
 * Lets pages call if `CORS_ORIGINS` has their origin. Runlet itself uses no cookies. With accounts those of the product
 * are allowed, because `authenticate` may read them.
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
