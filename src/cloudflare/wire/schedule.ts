import * as v from 'valibot';
import { described, time } from './field.ts';
import { count, cursor, nextCursor } from './page.ts';

export const scheduleName = v.pipe(
	v.string(),
	v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'Use a-z, 0-9 and single hyphens'),
	v.maxLength(64),
);

const timeFields = {
	cron: v.optional(described(v.string(), 'Minute, hour, day, month and weekday.')),
	every: v.optional(described(v.string(), 'A number and `m`, `h`, `d` or `w`.')),
	at: v.optional(described(v.string(), 'Once, at a time with its offset.')),
	timezone: v.optional(described(v.string(), 'The time zone of `cron`. UTC if it is missing.')),
};

/** What became of a time. */
export const wake = v.object({
	at: described(time, 'The time that was due.'),
	outcome: v.picklist(['ran', 'skipped', 'failed']),
	sessionId: v.optional(v.string()),
	runId: v.optional(v.string()),
	reason: v.optional(described(v.string(), 'Why no run began.')),
});

export const schedule = v.object({
	id: described(v.string(), 'Names it in `DELETE /v1/schedules/:id`.'),
	name: v.string(),
	agent: v.optional(described(v.string(), 'The agent that it wakes.')),
	session: v.optional(described(v.string(), 'The session that it wakes.')),
	...timeFields,
	text: v.optional(described(v.string(), 'The message. Missing where the agent’s code says it.')),
	nextAt: v.optional(described(time, 'When it wakes next. Missing once the last time is over.')),
	last: v.optional(wake),
});

export const schedulePage = v.object({ schedules: v.array(schedule), cursor: nextCursor });

/** The query of a page. The page begins after the id that the cursor names. */
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
