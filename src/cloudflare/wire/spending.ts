import * as v from 'valibot';
import { userName } from '../auth/rights.ts';
import { amount, limit } from './budget.ts';
import { described } from './field.ts';
import { count, cursor, nextCursor, ownerCursor, ownerName } from './page.ts';

export const spendingQuery = v.object({
	owner: v.optional(
		described(
			ownerName,
			'Only this owner. If it is missing: all owners with the scope `admin`, 100 on a page, else your own.',
		),
	),
	user: v.optional(described(userName, 'Only what this user of the owner spent.')),
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
	cursor: v.optional(cursor(ownerCursor)),
	days: v.optional(described(count(400), 'The number of days, including today (UTC).'), '31'),
});

/** The spending of an owner, or of a user, on a day. */
export const spentDay = v.object({
	day: described(v.string(), 'In UTC, such as 2026-11-22.'),
	spent: described(amount, 'The cost of calls to models.'),
	unpricedTokens: v.optional(described(v.number(), 'The tokens without a known price. Missing if there are none.')),
	reserved: described(amount, 'Reserved for active runs. The rest is released when they end.'),
});

const names = {
	agent: v.optional(described(v.string(), '`*` stands for all others of that day, in each of the three.')),
	model: v.optional(v.string()),
	user: v.optional(described(v.string(), 'Missing for sessions without a user.')),
};
const counts = {
	inputTokens: described(v.number(), 'Those of the tokens that were sent.'),
	cachedInputTokens: described(v.number(), 'Those of the input that came from a cache.'),
	cachedShare: described(v.number(), 'The same as a share of the input, from 0 to 1.'),
	units: described(v.record(v.string(), v.number()), 'Other billed units, by name: `{ "web_searches": 2 }`.'),
};

/** A part of a day's spending: of one agent, one model and one user. */
export const spentParts = v.object({
	day: spentDay.entries.day,
	...names,
	spent: described(
		v.object({ tokens: v.number(), usd: v.nullable(v.number()) }),
		'`usd` is what is known of the price, and `null` if nothing is known.',
	),
	unpricedTokens: spentDay.entries.unpricedTokens,
	...counts,
});

/** A group of the spending, or the number of billed units of one kind in a group. */
export const spentGroup = v.union([
	v.object({ owner: v.string(), ...spentParts.entries }),
	v.object({
		...{ owner: v.string(), day: spentDay.entries.day, ...names },
		unit: described(
			v.string(),
			'`input_tokens`, `cached_input_tokens` (which are input, too), `output_tokens`, or a billed unit.',
		),
		count: v.number(),
	}),
]);

const account = {
	owner: v.string(),
	user: v.optional(described(v.string(), 'The user. Present if the query has `user`.')),
};

export const spending = v.object({
	budgets: described(
		v.object({ session: limit, day: limit }),
		'The default budgets of a session and of an owner’s day.',
	),
	usage: described(
		v.array(
			v.object({
				...account,
				...spentDay.entries,
				limit: described(
					limit,
					'The budget of a day, by the present keys or the budget of the user. A missing field has no cap.',
				),
			}),
		),
		'The newest day first. Days without spending are left out.',
	),
	groups: v.optional(
		described(
			v.array(spentGroup),
			'The same by what `by` asks for: the newest day first, then what had the most tokens. With `unit` it is counts, and no money.',
		),
	),
	storage: described(
		v.array(
			v.object({
				...account,
				bytes: v.number(),
				limit: v.optional(described(v.number(), 'The most bytes. Missing if there is no limit.')),
			}),
		),
		'The stored bytes of the sessions, by their last reports.',
	),
	cursor: nextCursor,
});
