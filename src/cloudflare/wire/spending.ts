import * as v from 'valibot';
import { amount, limit } from './budget.ts';
import { count } from './page.ts';

const ownerName = v.pipe(
	v.string(),
	v.regex(/^(?!\*$)[\x21-\x7e]{1,128}$/, 'Expected the name of an owner'),
	v.description('Only this owner. All owners if it is missing.'),
);

export const spendingQuery = v.object({
	owner: v.optional(ownerName),
	days: v.optional(v.pipe(count(400), v.description('The number of days, including today (UTC).')), '31'),
});

/** What owners spent, by day. */
export const spending = v.object({
	budgets: v.pipe(
		v.object({ session: limit, day: limit }),
		v.description('The default budgets of a session and of an owner’s day.'),
	),
	usage: v.pipe(
		v.array(
			v.object({
				owner: v.string(),
				day: v.pipe(v.string(), v.description('In UTC, such as 2026-11-22.')),
				spent: v.pipe(amount, v.description('What calls to models cost.')),
				limit: v.pipe(
					limit,
					v.description('What the owner may spend on a day, as its keys say now. A missing field has no cap.'),
				),
				reserved: v.pipe(
					amount,
					v.description('Reserved for runs that are going on. What they do not need is given back when they end.'),
				),
			}),
		),
		v.description('The newest day first. Days without spending are left out.'),
	),
});
