/** Says a schedule in words. The API describes the five fields of cron in docs/schedules.md. */

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
	...['January', 'February', 'March', 'April', 'May', 'June'],
	...['July', 'August', 'September', 'October', 'November', 'December'],
];
const units: Readonly<Record<string, string>> = { m: 'minute', h: 'hour', d: 'day', w: 'week' };

/** Returns the words for `every`, such as `30m`. Returns the text itself if it is no known period. */
export function describeEvery(every: string): string {
	const [, count = '', unit = ''] = /^(\d+)([mhdw])$/.exec(every) ?? [];
	const name = units[unit];
	if (name === undefined) return `every ${every}`;
	return count === '1' ? `every ${name}` : `every ${count} ${name}s`;
}

/** Returns the words for a cron expression. Returns `at EXPRESSION` for one that is too complicated to be said. */
export function describeCron(cron: string): string {
	const [minute = '', hour = '', day = '', month = '', weekday = '', ...rest] = cron.trim().toLowerCase().split(/\s+/);
	const when = rest.length > 0 ? undefined : describeTime(minute, hour);
	const which = describeDays(day, month, weekday);
	if (when === undefined || which === undefined) return `at ${cron}`;
	if (when.startsWith('every')) return which === 'every day' ? when : `${when}, ${which}`;
	return `${which} at ${when}`;
}

function describeTime(minute: string, hour: string): string | undefined {
	const step = /^\*\/(\d+)$/.exec(minute)?.[1];
	if (hour === '*' && (minute === '*' || step !== undefined)) return describeEvery(`${step ?? 1}m`);
	if (!/^\d{1,2}$/.test(minute)) return undefined;
	const past = minute.padStart(2, '0');
	const hours = /^\*\/(\d+)$/.exec(hour)?.[1];
	if (hour === '*' || hours !== undefined) {
		const every = describeEvery(`${hours ?? 1}h`);
		return past === '00' ? every : `${every}, ${Number(minute)} minutes past`;
	}
	if (!/^\d{1,2}(,\d{1,2})*$/.test(hour)) return undefined;
	return join(hour.split(',').map((one) => `${Number(one)}:${past}`));
}

function describeDays(day: string, month: string, weekday: string): string | undefined {
	const inMonth = month === '*' ? '' : toMonth(month);
	if (inMonth === undefined) return undefined;
	const suffix = inMonth === '' ? '' : ` in ${inMonth}`;
	if (day !== '*' && weekday !== '*') return undefined;
	if (day !== '*') {
		if (!/^\d{1,2}(,\d{1,2})*$/.test(day)) return undefined;
		const each = join(day.split(',').map((one) => `${Number(one)}.`));
		return inMonth === '' ? `on the ${each} of each month` : `on the ${each} of ${inMonth}`;
	}
	if (weekday === '*') return `every day${suffix}`;
	if (/^(1-5|mon-fri)$/.test(weekday)) return `every weekday${suffix}`;
	if (/^(0,6|6,0|6,7|6-7|sat,sun|sun,sat|sat-sun)$/.test(weekday)) return `every weekend day${suffix}`;
	const named = weekday.split(',').map(toDay);
	const known = named.filter((name) => name !== undefined);
	return known.length < named.length ? undefined : `every ${join(known)}${suffix}`;
}

function toDay(text: string): string | undefined {
	if (/^[0-7]$/.test(text)) return days[Number(text) % 7];
	return text.length < 3 ? undefined : days.find((name) => name.toLowerCase().startsWith(text));
}

function toMonth(text: string): string | undefined {
	const names = text.split(',').map((one) => {
		if (/^\d{1,2}$/.test(one)) return months[Number(one) - 1];
		return one.length < 3 ? undefined : months.find((name) => name.toLowerCase().startsWith(one));
	});
	const known = names.filter((name) => name !== undefined);
	return known.length < names.length ? undefined : join(known);
}

function join(parts: readonly string[]): string {
	return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}
