import * as v from 'valibot';
import { isRecord } from '../../core/base/json.ts';
import { described } from './field.ts';

export const budgetSchema = v.pipe(
	v.custom<object>((value) => isRecord(value), 'must be an object'),
	v.strictObject({
		tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1e15))),
		usd: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1e9))),
	}),
	v.description('The most that may be spent: tokens (input and output together), US dollars, or both.'),
);

export const amount = v.object({ tokens: v.number(), usd: v.number() });
export const limit = v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) });

export const budgetState = v.object({
	limit: described(limit, 'The caps. A missing field has no cap.'),
	spent: described(amount, 'The cost of calls to models.'),
	reserved: described(amount, 'Reserved for the call that is running.'),
	left: described(limit, 'The rest: neither spent nor reserved. Only for fields with a cap.'),
});

/**
 * The default caps, in tokens (input and output), because the price of some models is unknown. A cap in tokens or in
 * dollars replaces them.
 */
export const defaultBudgets = {
	/** Enough for a long day's work of an agent, with the history that each request sends again. */
	session: { tokens: 2_000_000 },
	/** Enough for ten such sessions. */
	day: { tokens: 20_000_000 },
} as const;
