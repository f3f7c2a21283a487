import type { Env } from '../../core/base/env.ts';
import type { WakeupTime } from '../../core/tool/index.ts';

export interface ActiveSession {
	readonly id: string;
	readonly agent: string;
	readonly title?: string;
	readonly createdAt: Date;
	readonly activeAt: Date;
}

export interface WakeEvent {
	/** The scheduled time, even if the call is late. */
	readonly at: Date;
	readonly name: string;
	/** The owner, who pays. */
	readonly owner: string;
	/** The person whose sessions the schedule wakes. */
	readonly user?: string;
	/** The Worker's bindings and variables. */
	readonly env: Env;
	/** Lists the owner's sessions that were active since `since`: at most 100, the newest first. */
	readonly listSessions: (since: Date) => Promise<readonly ActiveSession[]>;
}

/** The times and the message of an agent's wake-up (docs/schedules.md). */
export interface AgentSchedule extends Omit<WakeupTime, 'at'> {
	/** a–z, 0–9 and single hyphens. A new name makes a new schedule. */
	readonly name: string;
	readonly text?: string;
	/** Writes the message. If it returns undefined, nothing is sent at this time. */
	readonly fn?: (event: WakeEvent) => string | undefined | Promise<string | undefined>;
	/** `same` (the default): all wake-ups share one session. `new`: each wake-up has a new session. */
	readonly session?: 'same' | 'new';
	/** The owner, who pays. `schedules` by default, and `local` on a laptop. */
	readonly owner?: string;
	/** The user of that owner. By default there is no user. */
	readonly user?: string;
}
