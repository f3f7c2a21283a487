import type { WakeupTime } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import type { Scheduler } from '../objects/schedule-api.ts';
import type { Agent } from './define.ts';

/** What the schedules of an owner are made of, in the object of its directory. */
export interface SchedulerOptions {
	readonly storage: DurableObjectStorage;
	readonly agents: readonly Agent[];
	/** The environment, read when it is needed. */
	readonly config: () => Config;
	/** The clock, in milliseconds since 1970. */
	readonly now: () => number;
}

/**
 * What agents and sessions use of `runlet/cloudflare/schedules`. A Worker without `createRunlet({ schedules })` carries
 * nothing behind it.
 */
export interface ScheduleConnector {
	/** Throws `invalid_argument`, which names the field, for a time that is misspelt or never comes. */
	assertTime(time: WakeupTime, now: number, prefix?: string): void;
	/** Makes the schedules of an owner. */
	open(options: SchedulerOptions): Scheduler;
}
