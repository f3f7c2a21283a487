import type { Actor } from '../../core/base/actor.ts';
import type { Wakeups } from '../../core/tool/index.ts';
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

/** A session that has itself woken. */
export interface WakingSession extends Pick<Config, 'directories'> {
	readonly session: string;
	readonly owner: string;
	readonly user?: string;
	/** Lists those whose messages led to what its run does. */
	readonly askers: () => readonly Actor[];
}

/** What sessions and directories use of the plugin `schedules`. A Worker without the plugin carries no code of it. */
export interface ScheduleConnector {
	/** Tells the owners' directories what the schedules of agents are. It may be told often. */
	arm(agents: readonly Agent[], config: () => Config): Promise<void>;
	/** Makes the schedules of an owner, in the object of its directory. */
	open(options: SchedulerOptions): Scheduler;
	/** Makes the wake-ups of a session for its tools. */
	createWakeups(session: WakingSession): Wakeups;
}
