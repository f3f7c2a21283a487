import * as v from 'valibot';
import { fromFn } from '../tool/define.ts';
import { fn, type Tool } from '../tool/index.ts';

const timeZone = v.pipe(
	v.string(),
	v.check(isTimeZone, 'Expected an IANA time zone such as Europe/Paris'),
	v.description('IANA time zone such as Europe/Paris; UTC when left out'),
);

/** Makes the tool `get_time`. */
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
		{ retry: 'safe' },
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
