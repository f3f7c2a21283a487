import { Hono } from 'hono/tiny';
import type { RouteEnv } from './identity.ts';
import { createMissingRoutes } from './missing.ts';

export interface LinkRoutes {
	/** `/v1/decisions`: what a link opens, and decides. A link is its own authorization. */
	readonly decisions: Hono<RouteEnv>;
	/** `/v1/sessions/:id/links`. */
	readonly sessions: Hono<RouteEnv>;
}

/** Makes the routes of a Worker without decision links. */
export function createMissingLinks(): LinkRoutes {
	return { decisions: new Hono<RouteEnv>(), sessions: createMissingRoutes('links', '/:id/links') };
}
