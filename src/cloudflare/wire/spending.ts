import * as v from 'valibot';
import { amount, limit } from './budget.ts';
import { count } from './page.ts';

const ownerName = v.pipe(
	v.string(),
	v.regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'Expected the name of an owner'),
	v.description('One owner; without it, all of them.'),
);

export const spendingQuery = v.object({
	owner: v.optional(ownerName),
	days: v.optional(v.pipe(count(400), v.description('How many days, today (UTC) included.')), '31'),
});

/** What owners spent, by the day. */
export const spending = v.object({
	budgets: v.pipe(
		v.object({ session: limit, day: limit }),
		v.description('What a session and an owner’s day may spend that have no budget of their own.'),
	),
	usage: v.pipe(
		v.array(
			v.object({
				owner: v.string(),
				day: v.pipe(v.string(), v.description('In UTC, such as 2026-11-22.')),
				spent: v.pipe(amount, v.description('What calls to models came to.')),
				reserved: v.pipe(amount, v.description('Set aside for calls that go on.')),
			}),
		),
		v.description('The newest day first; days on which nothing was spent are left out.'),
	),
});
