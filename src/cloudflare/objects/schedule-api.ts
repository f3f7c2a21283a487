import type { Actor } from '../../core/base/actor.ts';
import type { LastWake, WakeupTime } from '../../core/tool/index.ts';
import type { Shown } from '../wire/operation.ts';
import type { schedule } from '../wire/schedule.ts';
import type { RpcResult } from './result.ts';

/** What a schedule wakes: a session by its id, or an agent in sessions of the schedule's own. */
export type WakeTarget =
	| { readonly kind: 'session'; readonly session: string }
	| { readonly kind: 'agent'; readonly agent: string };

/** A schedule to be stored. It has one place for each target and name. */
export interface NewSchedule {
	readonly owner: string;
	/** The person whose session it wakes. */
	readonly user?: string;
	readonly target: WakeTarget;
	readonly name: string;
	readonly time: WakeupTime;
	/** The message. Missing where the agent's definition says it. */
	readonly text?: string;
	/** Those who asked for it. Nobody where the agent's definition did. */
	readonly askers?: readonly Actor[];
}

/** A schedule as its owner's directory stores it. Times are milliseconds since 1970. */
export interface StoredSchedule extends NewSchedule {
	/** Missing once its last time is over. */
	readonly dueAt?: number;
	readonly last?: LastWake;
	readonly createdAt: number;
}

/** The filter and the page of a list of schedules. */
export interface ScheduleQuery {
	/** Lists the schedules of this session only. */
	readonly session?: string;
	/** Lists the schedules after this place, by target and name. */
	readonly after?: { readonly target: WakeTarget; readonly name: string };
	/** The most schedules. Missing: all. */
	readonly limit?: number;
}

/** The schedules of an owner, in the owner's directory (docs/schedules.md). Every call may be made twice. */
export interface ScheduleApi {
	/** Stores a schedule, in place of that of the same target and name. The same one again changes nothing. */
	putSchedule(schedule: NewSchedule): Promise<RpcResult<StoredSchedule>>;
	/** Makes the schedules of agents exactly these. Those that are the same stay as they are. */
	setAgentSchedules(schedules: readonly NewSchedule[]): Promise<RpcResult<void>>;
	/** Lists schedules by target and name. */
	listSchedules(query?: ScheduleQuery): Promise<RpcResult<readonly StoredSchedule[]>>;
	/** Removes a schedule. Returns whether it was there. */
	cancelSchedule(target: WakeTarget, name: string): Promise<RpcResult<boolean>>;
}

/** What carries out the schedules of an owner in the object of its directory. */
export interface Scheduler extends ScheduleApi {
	/** Wakes what is due, and sets the alarm for what is due next. */
	handleAlarm(): Promise<void>;
	/** Removes the schedules of a session that was removed. */
	dropSession(session: string): Promise<void>;
}

/** Converts a schedule to the form of the API. */
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
