import type { Actor } from '../../core/base/actor.ts';
import type { Wakeups } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import type { Scheduler } from '../objects/schedule-api.ts';
import type { Agent } from './define.ts';

export interface SchedulerOptions {
	readonly storage: DurableObjectStorage;
	readonly agents: readonly Agent[];
	readonly config: () => Config;
	/** In milliseconds since 1970. */
	readonly now: () => number;
}

/** A session that sets schedules for itself. */
export interface WakingSession extends Pick<Config, 'directories'> {
	readonly session: string;
	readonly owner: string;
	readonly user?: string;
	/** The directory of the session. */
	readonly directory: string;
	/** Lists the actors whose messages led to the present run. */
	readonly askers: () => readonly Actor[];
}

/** The interface of the plugin `schedules`. A Worker without the plugin contains none of its code. */
export interface ScheduleConnector {
	/** Sends the schedules of agents to the directories of their owners. A repeated call changes nothing. */
	arm(agents: readonly Agent[], config: () => Config): Promise<void>;
	/** Opens an owner's schedules, which are in the owner's directory. */
	open(options: SchedulerOptions): Scheduler;
	createWakeups(session: WakingSession): Wakeups;
}
