import { Hono } from 'hono/tiny';
import type { ScheduleConnector } from '../agent/schedule-connector.ts';
import { createNoSchedules } from '../objects/schedule-api.ts';
import type { RouteEnv } from './identity.ts';

/** What `runlet/cloudflare/schedules` gives (docs/schedules.md). */
export interface ScheduleSupport extends ScheduleConnector {
	/** Makes `/v1/schedules`. */
	routes(): Hono<RouteEnv>;
}

/** Makes the route of a Worker without schedules. It answers `not_found`, which says how to add them. */
export function createMissingSchedules(): Hono<RouteEnv> {
	return new Hono<RouteEnv>().all('*', () => {
		throw createNoSchedules();
	});
}
