import type { Context } from 'hono';
import { cors } from 'hono/cors';
import { isAllowedPage, type RouteEnv } from './identity.ts';

/** Pages on other hosts may call where `CORS_ORIGINS` has their origin. No cookie is ever used, so none is allowed. */
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
