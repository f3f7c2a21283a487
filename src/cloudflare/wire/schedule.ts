import * as v from 'valibot';
import { count, cursor, nextCursor } from './page.ts';

export const scheduleName = v.pipe(
	v.string(),
	v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'Use a-z, 0-9 and single hyphens'),
	v.maxLength(64),
);

const time = v.pipe(v.string(), v.isoTimestamp());

const timeFields = {
	cron: v.optional(v.pipe(v.string(), v.description('Minute, hour, day, month and weekday.'))),
	every: v.optional(v.pipe(v.string(), v.description('A number and `m`, `h`, `d` or `w`.'))),
	at: v.optional(v.pipe(v.string(), v.description('Once, at a time with its offset.'))),
	timezone: v.optional(v.pipe(v.string(), v.description('The time zone of `cron`. UTC if it is missing.'))),
};

export const schedule = v.object({
	id: v.pipe(v.string(), v.description('Names it in `DELETE /v1/schedules/:id`.')),
	name: v.string(),
	agent: v.optional(v.pipe(v.string(), v.description('The agent that it wakes.'))),
	session: v.optional(v.pipe(v.string(), v.description('The session that it wakes.'))),
	...timeFields,
	text: v.optional(v.pipe(v.string(), v.description('The message. Missing where the agent’s code says it.'))),
	nextAt: v.optional(v.pipe(time, v.description('When it wakes next. Missing once the last time is over.'))),
	last: v.optional(
		v.object({
			at: v.pipe(time, v.description('The time that was due.')),
			outcome: v.picklist(['ran', 'skipped', 'failed']),
			sessionId: v.optional(v.string()),
			runId: v.optional(v.string()),
			reason: v.optional(v.pipe(v.string(), v.description('Why no run began.'))),
		}),
	),
});

export const schedulePage = v.object({ schedules: v.array(schedule), cursor: nextCursor });

/** The id of a schedule is the cursor of the schedules behind it. */
export const schedulePageQuery = v.strictObject({
	session: v.optional(v.pipe(v.string(), v.maxLength(200), v.description('Only those of this session.'))),
	cursor: v.optional(cursor(/^(?:agent|session)\.[^.]{1,200}\.[^.]{1,64}$/)),
	limit: v.optional(count(100), '50'),
});

const timeText = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

export const scheduleBody = v.strictObject({
	session: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200), v.description('The id of the session.')),
	name: scheduleName,
	text: v.pipe(v.string(), v.nonEmpty(), v.maxLength(10_000)),
	cron: timeText,
	every: timeText,
	at: timeText,
	timezone: timeText,
});
