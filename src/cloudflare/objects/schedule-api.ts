import type { Actor } from '../../core/base/actor.ts';
import type { LastWake, WakeupTime } from '../../core/tool/index.ts';
import type { Shown } from '../wire/operation.ts';
import type { schedule } from '../wire/schedule.ts';
import type { RpcResult } from './reach.ts';

/** The target of a wake-up: an existing session, or an agent, which gets sessions for the schedule. */
export type WakeTarget =
	| { readonly kind: 'session'; readonly session: string }
	| { readonly kind: 'agent'; readonly agent: string };

/** A schedule. No other schedule of its target has the same name. */
export interface NewSchedule {
	readonly owner: string;
	readonly user?: string;
	readonly target: WakeTarget;
	readonly name: string;
	readonly time: WakeupTime;
	/** Missing if the agent's definition has the message. */
	readonly text?: string;
	/** The people who asked for the schedule. Missing for a schedule in an agent's definition. */
	readonly askers?: readonly Actor[];
}

/** Times are milliseconds since 1970. */
export interface StoredSchedule extends NewSchedule {
	/** Missing after the last time. */
	readonly dueAt?: number;
	readonly last?: LastWake;
	readonly createdAt: number;
}

export interface ScheduleQuery {
	readonly session?: string;
	/** The last schedule of the previous page. The list continues after it. */
	readonly after?: { readonly target: WakeTarget; readonly name: string };
	readonly limit?: number;
}

/** The schedules in an owner's directory (docs/schedules.md). Each method is idempotent. */
export interface ScheduleApi {
	/** Stores or replaces a schedule. An equal schedule changes nothing. */
	putSchedule(schedule: NewSchedule): Promise<RpcResult<StoredSchedule>>;
	/** Replaces the schedules of agents. Equal schedules do not change. */
	setAgentSchedules(schedules: readonly NewSchedule[]): Promise<RpcResult<void>>;
	listSchedules(query?: ScheduleQuery): Promise<RpcResult<readonly StoredSchedule[]>>;
	/**
	 * Wakes the target of a schedule as if the time `at` had come, for `by`. The next time stays. A repeated `request` begins
	 * no second run. Returns undefined if there is no such schedule.
	 */
	runSchedule(
		target: WakeTarget,
		name: string,
		now: { readonly at: number; readonly by: Actor; readonly request: string },
	): Promise<RpcResult<LastWake | undefined>>;
	cancelSchedule(target: WakeTarget, name: string): Promise<RpcResult<boolean>>;
}

export interface Scheduler extends ScheduleApi {
	/** Wakes the targets of due schedules, and sets the next alarm. */
	handleAlarm(): Promise<void>;
	dropSession(session: string): Promise<void>;
}

export function showSchedule({ target, name, time, text, dueAt, last }: StoredSchedule): Shown<typeof schedule> {
	const place = target.kind === 'agent' ? { agent: target.agent } : { session: target.session };
	const id = `${target.kind}.${target.kind === 'agent' ? target.agent : target.session}.${name}`;
	return {
		id,
		name,
		...place,
		...time,
		text,
		...(dueAt !== undefined && { nextAt: new Date(dueAt).toISOString() }),
		last,
	};
}
