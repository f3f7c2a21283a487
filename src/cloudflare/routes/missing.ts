import { Hono } from 'hono/tiny';
import { createMissing, type PartName } from '../objects/missing.ts';
import type { RouteEnv } from './identity.ts';

/** Makes the routes of a part of Runlet for a Worker without it. They answer `not_found`, which says how to add it. */
export function createMissingRoutes(part: PartName, path = '*'): Hono<RouteEnv> {
	return new Hono<RouteEnv>().all(path, () => {
		throw createMissing(part);
	});
}
