import * as v from 'valibot';
import { userName } from '../auth/user-name.ts';
import { amount, limit } from './budget.ts';
import { count, ownerName } from './page.ts';

export const spendingQuery = v.object({
	owner: v.optional(
		v.pipe(
			ownerName,
			v.description('Only this owner. If it is missing: all owners with the scope `admin`, else your own.'),
		),
	),
	user: v.optional(v.pipe(userName, v.description('Only what this user of the owner spent.'))),
	days: v.optional(v.pipe(count(400), v.description('The number of days, including today (UTC).')), '31'),
});

/** What an owner, or one of its users, spent on a day. */
export const spentDay = v.object({
	day: v.pipe(v.string(), v.description('In UTC, such as 2026-11-22.')),
	spent: v.pipe(amount, v.description('What calls to models cost.')),
	reserved: v.pipe(
		amount,
		v.description('Reserved for runs that are going on. What they do not need is given back when they end.'),
	),
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
				user: v.optional(v.pipe(v.string(), v.description('The user. Present if the query has `user`.'))),
				...spentDay.entries,
				limit: v.pipe(
					limit,
					v.description(
						'What may be spent on a day, as the keys or the budget of the user say now. A missing field has no cap.',
					),
				),
			}),
		),
		v.description('The newest day first. Days without spending are left out.'),
	),
});
