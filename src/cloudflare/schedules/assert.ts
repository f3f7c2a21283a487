import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { type Agent, blameAgent } from '../agent/define.ts';
import { userName } from '../auth/actor.ts';
import { scheduleName } from '../wire/schedule.ts';
import { assertTime } from './time.ts';

const timeText = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

const schedule = v.pipe(
	v.strictObject({
		name: scheduleName,
		cron: timeText,
		every: timeText,
		timezone: timeText,
		text: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000))),
		fn: v.optional(v.function('must be a function')),
		session: v.optional(v.picklist(['same', 'new'])),
		owner: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(128))),
		user: v.optional(userName),
	}),
	v.check(({ text, fn }) => (text === undefined) !== (fn === undefined), 'give either text or fn'),
);

const schema = v.object({
	schedules: v.pipe(
		v.array(schedule),
		v.maxLength(100, 'at most 100'),
		v.check((list) => new Set(list.map(({ name }) => name)).size === list.length, 'two of them have one name'),
	),
});

/** Throws `invalid_agent`, which names the field, for a wrong schedule, and for a time that never comes. */
export function assertSchedules({ name, schedules = [] }: Agent): void {
	blameAgent(name, () => {
		check(schema, { schedules }, 'agent', 'invalid_agent');
		for (const [index, time] of schedules.entries()) assertTime(time, Date.now(), `schedules.${index}.`);
	});
}
