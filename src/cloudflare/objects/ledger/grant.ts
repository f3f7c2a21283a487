import {
	type Amount,
	type BudgetState,
	createAmount,
	everything,
	exceedsLimit,
	type Limit,
	nothing,
} from '../budget.ts';

/** Whether all that is reserved, with this amount, is no more than half of what is not spent of a limit. */
export function isPlenty({ limit, spent, reserved }: BudgetState, amount: Amount): boolean {
	return !exceedsLimit({ limit: toHalf(limit, spent), spent: nothing, reserved }, amount);
}

/** Returns half of what is not spent of a limit. */
function toHalf({ tokens, usd }: Limit, spent: Amount): Limit {
	return {
		...(tokens !== undefined && { tokens: (tokens - spent.tokens) / 2 }),
		...(usd !== undefined && { usd: (usd - spent.usd) / 2 }),
	};
}

/** Turns the amount of a lease into what is counted: an infinite part is not, because no cap bounds it. */
export function toCounted({ tokens, usd }: Amount): Amount {
	return createAmount({ tokens: tokens === everything.tokens ? 0 : tokens, usd: usd === everything.usd ? 0 : usd });
}

/** Returns an amount with those parts infinite that are so in the request. */
export function withInfinite({ tokens, usd }: Amount, asked: Amount): Amount {
	return {
		tokens: asked.tokens === everything.tokens ? asked.tokens : tokens,
		usd: asked.usd === everything.usd ? asked.usd : usd,
	};
}
