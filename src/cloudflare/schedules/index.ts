/** The module `runlet/cloudflare/schedules` (docs/schedules.md). */

import type { Plugin } from '../plugin.ts';
import { armSchedules, assertSchedules } from './arm.ts';
import { scheduleRoutes } from './routes.ts';
import { OwnerScheduler } from './scheduler.ts';
import { createWakeups } from './wakeups.ts';

export type { ActiveSession, AgentSchedule, WakeEvent } from '../agent/schedules.ts';

/** Schedules of agents, and wake-ups of sessions. */
export const schedules: Plugin = {
	name: 'schedules',
	provides: {
		schedules: { arm: armSchedules, open: (options) => new OwnerScheduler(options), createWakeups },
	},
	assertAgents: (agents) => agents.forEach(assertSchedules),
	listRoutes: () => scheduleRoutes,
};
