import * as v from 'valibot';
import { isRecord } from '../../core/base/json.ts';

/** A budget: a cap on tokens, on US dollars, or on both. */
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

/** The state of a budget. */
export const budgetState = v.object({
	limit: v.pipe(limit, v.description('The caps. A missing field has no cap.')),
	spent: v.pipe(amount, v.description('What calls to models cost.')),
	reserved: v.pipe(amount, v.description('Reserved for the call that is running.')),
	left: v.pipe(limit, v.description('What is neither spent nor reserved. Only for fields with a cap.')),
});

/**
 * Caps that hold if no variable is set: tokens of all calls, input and output together. They are in tokens because not
 * every model has a known price. A cap of any kind replaces them.
 */
export const defaultBudgets = {
	/** About a long day's work of one agent, with the history that is sent again. */
	session: { tokens: 2_000_000 },
	/** For one owner: ten such sessions. */
	day: { tokens: 20_000_000 },
} as const;
