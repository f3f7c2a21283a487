import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assertTime, findNext } from '../../../src/cloudflare/schedules/time.ts';
import type { WakeupTime } from '../../../src/core/tool/index.ts';

const now = Date.parse('2026-11-23T12:00:00Z');
const next = (time: WakeupTime, after: string, from = after) =>
	new Date(findNext(time, { after: Date.parse(after), from: Date.parse(from) }) ?? Number.NaN).toISOString();

test.each<[what: string, time: WakeupTime, says: string]>([
	['no time', {}, 'cron: give exactly one of cron, every and at, got none.'],
	[
		'both `cron` and `every`',
		{ cron: '* * * * *', every: '1h' },
		'cron: give exactly one of cron, every and at, got cron and every.',
	],
	['a cron with four fields', { cron: '9 * * *' }, 'cron: expected minute, hour, day, month and weekday'],
	['a cron with six fields', { cron: '* * * * * *' }, 'cron: expected minute, hour, day, month and weekday'],
	['a cron with the minute 61', { cron: '61 * * * *' }, 'cron: expected minute'],
	['a cron that never comes', { cron: '0 0 30 2 *' }, 'cron: this time never comes.'],
	[
		'a time zone that does not exist',
		{ cron: '0 9 * * *', timezone: 'Mars/Base' },
		'timezone: "Mars/Base" is no time zone',
	],
	['a time zone without cron', { every: '1h', timezone: 'UTC' }, 'timezone: only cron has one'],
	['an `every` without a unit', { every: '30' }, 'every: expected a number from 1 on and m, h, d or w'],
	['an `every` of seconds', { every: '30s' }, 'every: expected'],
	['an `every` of zero', { every: '0m' }, 'every: expected'],
	['an `every` of 1,000 years', { every: '52000w' }, 'every: expected'],
	...[
		'2026-02-30T09:00:00Z',
		'2027-02-29T09:00:00+01:00',
		'2026-11-31T00:00Z',
		'2026-13-01T00:00Z',
		'2026-12-01T25:00Z',
	].map((at): [string, WakeupTime, string] => [`the non-date ${at}`, { at }, 'at: the calendar has no such time']),
	['an `at` without its offset', { at: '2026-11-24T09:00:00' }, 'at: expected a time with its offset'],
	['an `at` with an invalid date', { at: '2026-13-40T09:00:00Z' }, 'at: the calendar has no such time.'],
	['an `at` in the past', { at: '2026-11-23T11:59:59Z' }, 'at: this time is past.'],
	['an `at` in a hundred years', { at: '2126-11-23T12:00:00Z' }, 'at: this is more than ten years from now.'],
])('refuses %s, and names the field', (_, time, says) => {
	expect(() => assertTime(time, now)).toThrow(says);
	expect(() => assertTime(time, now, 'schedules.0.')).toThrow(`schedules.0.${says}`);
});

test.each<WakeupTime>([
	{ cron: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' },
	{ cron: '*/5 * * * *' },
	{ every: '1m' },
	{ every: '2w' },
	{ at: '2026-11-24T09:00:00+01:00' },
])('accepts %o', (time) => expect(() => assertTime(time, now)).not.toThrow());

test('a cron follows the clock of its time zone through both clock changes', () => {
	const time = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
	expect(next(time, '2026-03-28T00:00:00Z')).toBe('2026-03-28T01:30:00.000Z');
	// Half past two does not exist on this day: the schedule runs at three.
	expect(next(time, '2026-03-28T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
	// Half past two exists twice on this day: the schedule runs once.
	expect(next(time, '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z');
	expect(next(time, '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
});

test('a single time is used only if it is in the future', () => {
	const time = { at: '2026-11-24T09:00:00+01:00' };
	expect(next(time, '2026-11-23T12:00:00Z')).toBe('2026-11-24T08:00:00.000Z');
	expect(findNext(time, { after: Date.parse('2026-11-24T08:00:00Z'), from: now })).toBeUndefined();
});

test('an interval is counted from its start, and several missed times count as one', () => {
	const count = fc.integer({ min: 1, max: 10_000 });
	fc.assert(
		fc.property(count, fc.constantFrom('m', 'h', 'd'), fc.integer({ min: 0, max: 1e11 }), (every, unit, late) => {
			const length = every * { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit];
			const found = findNext({ every: `${every}${unit}` }, { after: now + late, from: now }) ?? 0;
			expect(found).toBeGreaterThan(now + late);
			expect(found - now - late).toBeLessThanOrEqual(length);
			expect((found - now) % length).toBe(0);
		}),
	);
});

test('any text as a cron or time zone gives a time or an error quickly', () => {
	const part = fc.string({ unit: fc.constantFrom(...'0123456789*,-/#LW?MONJAN '), maxLength: 30 });
	fc.assert(
		fc.property(part, fc.option(fc.string(), { nil: undefined }), (cron, timezone) => {
			try {
				assertTime({ cron, timezone }, now);
			} catch (error) {
				expect(error).toMatchObject({ code: 'invalid_argument' });
			}
		}),
		{ numRuns: 300 },
	);
});
