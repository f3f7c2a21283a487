import type { Context } from 'hono';
import { cors } from 'hono/cors';
import { isAllowedPage, type RouteEnv } from './identity.ts';

/** Lets pages call if `CORS_ORIGINS` has their origin. Runlet uses no cookies, so none are allowed. */
export const crossOrigin = cors({
	origin: (origin, c: Context<RouteEnv>) => (isAllowedPage(c, origin) ? origin : null),
	allowMethods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
	exposeHeaders: [
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
