/** What `import { schedules } from 'runlet/cloudflare/schedules'` gives: pass it as `createRunlet({ agents, schedules })`. */

import type { ScheduleSupport } from '../routes/schedules.ts';
import { createSchedulesRoute } from './routes.ts';
import { OwnerScheduler } from './scheduler.ts';
import { assertTime } from './time.ts';

export type { AgentSchedule, WakeEvent } from '../agent/schedules.ts';
export type { ScheduleSupport } from '../routes/schedules.ts';

/** The schedules of a Worker, for `createRunlet({ schedules })` (docs/schedules.md). */
export const schedules: ScheduleSupport = {
	assertTime,
	open: (options) => new OwnerScheduler(options),
	routes: createSchedulesRoute,
};
