import type { Context } from 'hono';
import { cors } from 'hono/cors';
import { config } from '../config.ts';
import { isThisMachine, type RouteEnv } from './identity.ts';

/**
 * Pages on other hosts may call where `CORS_ORIGINS` has their origin; in the local mode pages of this machine may. No
 * cookie is ever used, so none is allowed.
 */
export const crossOrigin = cors({
	origin: (origin, c: Context<RouteEnv>) => {
		const { corsOrigins, keys, local } = config(c.env);
		const isAllowed = corsOrigins.includes(origin) || (local && keys.length === 0 && isThisMachine(origin));
		return isAllowed ? origin : null;
	},
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
