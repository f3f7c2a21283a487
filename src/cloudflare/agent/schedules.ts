import type { Env } from '../../core/base/env.ts';
import type { WakeupTime } from '../../core/tool/index.ts';

/** A session of a schedule's owner. */
export interface ActiveSession {
	readonly id: string;
	readonly agent: string;
	readonly title?: string;
	readonly createdAt: Date;
	/** Its last activity. */
	readonly activeAt: Date;
}

/** What the function of a schedule is told. */
export interface WakeEvent {
	/** When it was due. A late one is told its own time. */
	readonly at: Date;
	/** The name of the schedule. */
	readonly name: string;
	/** Who pays. */
	readonly owner: string;
	/** The person whose sessions it wakes. */
	readonly user?: string;
	/** The Worker's bindings and variables. */
	readonly env: Env;
	/** Lists the owner's sessions that were active since then: the newest 100, the newest first. */
	readonly listSessions: (since: Date) => Promise<readonly ActiveSession[]>;
}

/** A schedule of an agent: when it is woken, and with what message (docs/schedules.md). */
export interface AgentSchedule extends Omit<WakeupTime, 'at'> {
	/** a–z, 0–9 and single hyphens. It is told by it, so another name is another schedule. */
	readonly name: string;
	/** The message. */
	readonly text?: string;
	/** Writes the message. Where it gives nothing, the time is skipped. */
	readonly fn?: (event: WakeEvent) => string | undefined | Promise<string | undefined>;
	/** `same` (the default): one session, which goes on from time to time. `new`: a session for each time. */
	readonly session?: 'same' | 'new';
	/** Whose sessions these are, and whose day they are paid from. `schedules` if it is missing, and `local` on a laptop. */
	readonly owner?: string;
	/** The person in that owner whose sessions these are. Nobody if it is missing. */
	readonly user?: string;
}
