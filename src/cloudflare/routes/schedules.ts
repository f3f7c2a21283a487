import type { Hono } from 'hono/tiny';
import type { ScheduleConnector } from '../agent/schedule-connector.ts';
import type { RouteEnv } from './identity.ts';

/** What `runlet/cloudflare/schedules` gives (docs/schedules.md). */
export interface ScheduleSupport extends ScheduleConnector {
	/** Makes `/v1/schedules`. */
	routes(): Hono<RouteEnv>;
}
