import * as v from 'valibot';
import { RunletError } from '../base/errors.ts';
import { define, fromFn } from '../tool/define.ts';
import { fn, type Tool, type ToolContext, type Wakeups } from '../tool/index.ts';

const timeZone = v.pipe(
	v.string(),
	v.check(isTimeZone, 'Expected an IANA time zone such as Europe/Paris'),
	v.description('IANA time zone such as Europe/Paris; UTC when left out'),
);

export function timeTool(now: () => Date = () => new Date()): Tool {
	return fromFn(
		fn(
			{
				name: 'get_time',
				doc: 'The current date and time, in a time zone.',
				params: [['timeZone', v.optional(timeZone)]],
				returns: v.string(),
			},
			(zone = 'UTC') => describe(now(), zone),
		),
		{ retry: 'safe', readOnly: true },
	);
}

function describe(date: Date, zone: string): string {
	const local = new Intl.DateTimeFormat('en-GB', {
		timeZone: zone,
		weekday: 'long',
		year: 'numeric',
		month: 'long',
		day: 'numeric',
		hour: '2-digit',
		minute: '2-digit',
		second: '2-digit',
		timeZoneName: 'shortOffset',
	}).format(date);
	return `${local} (${zone}; ${date.toISOString()})`;
}

function isTimeZone(zone: string): boolean {
	try {
		new Intl.DateTimeFormat('en', { timeZone: zone });
		return true;
	} catch {
		return false;
	}
}

const name = v.pipe(
	v.string(),
	v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'Use a-z, 0-9 and single hyphens'),
	v.maxLength(64),
	v.description('A short name, such as check-inbox. One of the same name is replaced'),
);

const text = (says: string) => v.optional(v.pipe(v.string(), v.maxLength(200), v.description(says)));

/** The fields that all wake-up tools share. A repeated call changes nothing. */
const shared = {
	retry: 'safe',
	isAvailable: ({ wakeups }: Partial<ToolContext>) => wakeups !== undefined,
} as const;

export function scheduleWakeupTool(): Tool {
	return define({
		...shared,
		passInput: true,
		name: 'schedule_wakeup',
		description:
			'Have yourself woken in this conversation later, once or again and again, with a message from you to yourself.',
		inputSchema: v.object({
			name,
			text: v.pipe(v.string(), v.nonEmpty(), v.maxLength(10_000), v.description('What you are to do then')),
			at: text('Once, at this time, with its offset: 2026-11-24T09:00:00+01:00'),
			every: text('Again and again: a number and m, h, d or w, such as 30m'),
			cron: text('By minute, hour, day, month and weekday: 0 9 * * MON-FRI'),
			timezone: text('The time zone of cron, such as Europe/Berlin. UTC if it is missing'),
		}),
		onRequest: (wakeup) => ['Wake-up', wakeup.name],
		onResult: (_, { nextAt = 'never' }) => ['Next', nextAt],
		fn: (wakeup, context) => findWakeups(context).set(wakeup),
	});
}

export function listWakeupsTool(): Tool {
	return define({
		...shared,
		passInput: true,
		name: 'list_wakeups',
		description: 'List when you are woken in this conversation, and what became of the last time.',
		inputSchema: v.object({}),
		fn: async (_, context) => ({ wakeups: await findWakeups(context).list() }),
	});
}

export function cancelWakeupTool(): Tool {
	return define({
		...shared,
		passInput: true,
		name: 'cancel_wakeup',
		description: 'Cancel a wake-up of this conversation.',
		inputSchema: v.object({ name }),
		fn: async ({ name: one }, context) => {
			if (await findWakeups(context).cancel(one)) return { cancelled: one };
			throw new RunletError(
				'invalid_argument',
				`name: there is no wake-up "${one}". list_wakeups shows those there are.`,
			);
		},
	});
}

function findWakeups({ wakeups }: ToolContext): Wakeups {
	if (wakeups !== undefined) return wakeups;
	throw new RunletError('not_configured', 'wakeups: this run has none. In the library give options.context.wakeups.');
}
