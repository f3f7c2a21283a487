/** What `import { schedules } from 'runlet/cloudflare/schedules'` gives: pass it as `createRunlet({ agents, schedules })`. */

import type { ScheduleSupport } from '../routes/parts.ts';
import { armSchedules } from './arm.ts';
import { assertSchedules } from './assert.ts';
import { scheduleRoutes } from './routes.ts';
import { OwnerScheduler } from './scheduler.ts';
import { createWakeups } from './wakeups.ts';

export type { ActiveSession, AgentSchedule, WakeEvent } from '../agent/schedules.ts';
export type { ScheduleSupport } from '../routes/parts.ts';

/** The schedules of a Worker, for `createRunlet({ schedules })` (docs/schedules.md). */
export const schedules: ScheduleSupport = {
	assertSchedules,
	arm: armSchedules,
	open: (options) => new OwnerScheduler(options),
	routes: scheduleRoutes,
	createWakeups,
};
