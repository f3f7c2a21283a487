import * as v from 'valibot';
import { userName } from '../auth/actor.ts';
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
	by: v.optional(
		v.pipe(
			v.string(),
			v.regex(
				/^$|^(?:agent|model|user|unit)(?:,(?:agent|model|user|unit))*$/,
				'Expected some of agent, model, user and unit, with commas between them',
			),
			v.description(
				'Sum it up by these, too, as `groups`: some of `agent`, `model`, `user` and `unit`, with commas. The last 90 days are kept so.',
			),
		),
	),
	days: v.optional(v.pipe(count(400), v.description('The number of days, including today (UTC).')), '31'),
});

/** The spending of an owner, or of a user, on a day. */
export const spentDay = v.object({
	day: v.pipe(v.string(), v.description('In UTC, such as 2026-11-22.')),
	spent: v.pipe(amount, v.description('What calls to models cost.')),
	unpricedTokens: v.optional(
		v.pipe(v.number(), v.description('Those of the tokens whose price is not known. Missing if it is known of all.')),
	),
	reserved: v.pipe(
		amount,
		v.description('Reserved for runs that are going on. What they do not need is given back when they end.'),
	),
});

const names = {
	agent: v.optional(v.pipe(v.string(), v.description('`*` stands for all others of that day, in each of the three.'))),
	model: v.optional(v.string()),
	user: v.optional(v.pipe(v.string(), v.description('Missing for sessions without a user.'))),
};
const counts = {
	inputTokens: v.pipe(v.number(), v.description('Those of the tokens that were sent.')),
	cachedInputTokens: v.pipe(v.number(), v.description('Those of the input that came from a cache.')),
	cachedShare: v.pipe(v.number(), v.description('The same as a share of the input, from 0 to 1.')),
	units: v.pipe(
		v.record(v.string(), v.number()),
		v.description('What else was billed, by name: `{ "web_searches": 2 }`.'),
	),
};

/** The spending by agent, model and user, if the query asks for them. */
export const spentParts = v.object({
	day: spentDay.entries.day,
	...names,
	spent: v.pipe(
		v.object({ tokens: v.number(), usd: v.nullable(v.number()) }),
		v.description('`usd` is what is known of the price, and `null` if nothing is known.'),
	),
	unpricedTokens: spentDay.entries.unpricedTokens,
	...counts,
});

/** A group of the spending, or the count of a unit in it. */
export const spentGroup = v.union([
	v.object({ owner: v.string(), ...spentParts.entries }),
	v.object({
		...{ owner: v.string(), day: spentDay.entries.day, ...names },
		unit: v.pipe(
			v.string(),
			v.description('`input_tokens`, `cached_input_tokens` (which are input, too), `output_tokens`, or a billed unit.'),
		),
		count: v.number(),
	}),
]);

/** The spending of owners by day. */
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
	groups: v.optional(
		v.pipe(
			v.array(spentGroup),
			v.description(
				'The same by what `by` asks for: the newest day first, then what had the most tokens. With `unit` it is counts, and no money.',
			),
		),
	),
	storage: v.pipe(
		v.array(
			v.object({
				owner: v.string(),
				user: v.optional(v.pipe(v.string(), v.description('The user. Present if the query has `user`.'))),
				bytes: v.number(),
				limit: v.optional(v.pipe(v.number(), v.description('The most bytes. Missing if there is no limit.'))),
			}),
		),
		v.description('What the sessions hold now, as they told it last.'),
	),
});
