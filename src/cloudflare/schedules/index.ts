/** What `import { schedules } from 'runlet/cloudflare/schedules'` gives: `createRunlet({ agents, plugins: [schedules] })`. */

import type { Plugin } from '../plugin.ts';
import { armSchedules, assertSchedules } from './arm.ts';
import { scheduleRoutes } from './routes.ts';
import { OwnerScheduler } from './scheduler.ts';
import { createWakeups } from './wakeups.ts';

export type { ActiveSession, AgentSchedule, WakeEvent } from '../agent/schedules.ts';

/** When agents and sessions wake up by themselves (docs/schedules.md). */
export const schedules: Plugin = {
	name: 'schedules',
	provides: {
		schedules: { arm: armSchedules, open: (options) => new OwnerScheduler(options), createWakeups },
	},
	assertAgents: (agents) => agents.forEach(assertSchedules),
	listRoutes: () => scheduleRoutes,
};
