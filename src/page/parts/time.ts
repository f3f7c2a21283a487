/** Describes times and durations in words. */

import { configure, element } from './element.ts';

const units = [
	['year', 31_536_000],
	['month', 2_592_000],
	['week', 604_800],
	['day', 86_400],
	['hour', 3_600],
	['minute', 60],
] as const;

/** Describes a time relative to now, such as 5 min. ago or in 2 days. */
export function describeAge(at: string, now = Date.now()): string {
	const seconds = (Date.parse(at) - now) / 1_000;
	const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? [];
	if (unit === undefined) return seconds > 1 ? 'in a moment' : 'just now';
	return new Intl.RelativeTimeFormat('en', { style: 'short' }).format(Math.round(seconds / size), unit);
}

/** Shows how long ago a time was. The tooltip shows the date. */
export function createAge(at: string): HTMLElement {
	const title = new Date(at).toLocaleString();
	return configure(element('time', 'age', describeAge(at)), { dateTime: at, title });
}

/** Describes a duration, such as 340 ms, 2.1 s or 3 min 20 s. */
export function describeTime(ms: number): string {
	if (ms < 1_000) return `${Math.round(ms)} ms`;
	if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
	const seconds = Math.round(ms / 1_000);
	const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
	return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}
