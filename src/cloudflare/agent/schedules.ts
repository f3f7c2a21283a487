import * as v from 'valibot';
import type { Env } from '../../core/ground/env.ts';
import type { WakeupTime } from '../../core/tool/index.ts';
import { scheduleName } from '../wire/schedule.ts';

/** What the function of a schedule is told. */
export interface WakeEvent {
	/** When it was due. A late one is told its own time. */
	readonly at: Date;
	/** The name of the schedule. */
	readonly name: string;
	/** Who pays. */
	readonly owner: string;
	/** The Worker's bindings and variables. */
	readonly env: Env;
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
}

const timeText = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

/** The schedules of `defineAgent`. Whether a time can come is checked by what carries them out. */
export const agentSchedules = v.optional(
	v.pipe(
		v.array(
			v.pipe(
				v.strictObject({
					name: scheduleName,
					cron: timeText,
					every: timeText,
					timezone: timeText,
					text: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000))),
					fn: v.optional(v.function('must be a function')),
					session: v.optional(v.picklist(['same', 'new'])),
					owner: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(64))),
				}),
				v.check(({ text, fn }) => (text === undefined) !== (fn === undefined), 'give either text or fn'),
			),
		),
		v.maxLength(100, 'at most 100'),
		v.check((list) => new Set(list.map(({ name }) => name)).size === list.length, 'two of them have one name'),
	),
);
