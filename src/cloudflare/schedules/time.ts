import { Cron } from 'croner';
import { createFieldError, type RunletError } from '../../core/base/errors.ts';
import type { WakeupTime } from '../../core/tool/index.ts';

/** The units in milliseconds. */
const units = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

const kinds = ['cron', 'every', 'at'] as const;

/** How far in the future a time may be, in milliseconds: ten years. */
const farthestMs = 10 * 366 * units.d;

/** ISO 8601 with an offset, because the time zone of the server has no meaning for the user. */
const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Checks that exactly one of `cron`, `every` and `at` is set, and that its time is valid and will occur. Otherwise
 * throws `invalid_argument`, which names the field, with `prefix` before it, and the remedy.
 */
export function assertTime(time: WakeupTime, now: number, prefix = ''): void {
	const refuse = (field: string, why: string) => createFieldError('invalid_argument', `${prefix}${field}`, why);
	const given = kinds.filter((kind) => time[kind] !== undefined);
	const [kind] = given;
	if (kind === undefined || given.length > 1)
		throw refuse('cron', `give exactly one of cron, every and at, got ${given.join(' and ') || 'none'}.`);
	if (time.timezone !== undefined && kind !== 'cron') throw refuse('timezone', 'only cron has one. Leave it out.');
	if (kind === 'at' && !isoTime.test(time.at ?? ''))
		throw refuse('at', 'expected a time with its offset, such as 2026-11-24T09:00:00+01:00.');
	if (kind === 'at' && !exists(time.at ?? '')) throw refuse('at', 'the calendar has no such time.');
	if (kind === 'every' && !(readEvery(time.every) <= farthestMs))
		throw refuse('every', 'expected a number from 1 on and m, h, d or w, such as 30m or 1d.');
	const next = kind === 'cron' ? findCron(time, now, refuse) : findNext(time, { after: now, from: now });
	if (next === undefined) throw refuse(kind, kind === 'at' ? 'this time is past.' : 'this time never comes.');
	if (kind === 'at' && next > now + farthestMs) throw refuse('at', 'this is more than ten years from now.');
}

/** Returns the next time in milliseconds since 1970. `every` counts from `from`: a late wake delays no later wake. */
export function findNext(time: WakeupTime, { after, from }: { readonly after: number; readonly from: number }) {
	if (time.at !== undefined) {
		const at = Date.parse(time.at);
		return at > after ? at : undefined;
	}
	if (time.every !== undefined) {
		const every = readEvery(time.every);
		return from + every * Math.max(1, Math.floor((after - from) / every) + 1);
	}
	return openCron(time).nextRun(new Date(after))?.getTime();
}

/** Whether a date exists. `Date` reads 30 February as 2 March. */
function exists(isoText: string): boolean {
	const day = isoText.slice(0, 10);
	const begin = Date.parse(`${day}T00:00:00Z`);
	return !Number.isNaN(Date.parse(isoText)) && new Date(begin).toISOString().startsWith(day);
}

function readEvery(text = ''): number {
	const [, count, unit] = /^([1-9]\d{0,5})([mhdw])$/.exec(text) ?? [];
	return Number(count) * toUnit(unit);
}

function findCron(time: WakeupTime, now: number, refuse: (field: string, why: string) => RunletError) {
	try {
		openCron({ cron: '0 0 * * *', timezone: time.timezone }).nextRun(new Date(now));
	} catch {
		throw refuse('timezone', `"${time.timezone}" is no time zone. Give an IANA name, such as Europe/Berlin.`);
	}
	try {
		return openCron(time).nextRun(new Date(now))?.getTime();
	} catch {
		throw refuse('cron', 'expected minute, hour, day, month and weekday, such as 0 9 * * MON-FRI.');
	}
}

function openCron({ cron = '', timezone = 'UTC' }: WakeupTime): Cron {
	return new Cron(cron, { timezone, mode: '5-part', paused: true });
}

function toUnit(letter: string | undefined): number {
	return Object.entries(units).find(([name]) => name === letter)?.[1] ?? Number.NaN;
}
