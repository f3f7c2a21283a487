import {
	type Amount,
	type BudgetState,
	createAmount,
	everything,
	exceedsLimit,
	type Limit,
	lesser,
	nothing,
} from '../budget.ts';
import type { LeaseRequest } from './api.ts';

/**
 * Chooses what is reserved for a lease: all of it, or the next request, while there is plenty; else the next request with a
 * reply of `replyTokens`. Where nobody else has reserved anything, the next request gets all it may need.
 */
export function chooseAmount(
	{ amount, whole = amount, reply }: Pick<LeaseRequest, 'amount' | 'whole' | 'reply'>,
	states: readonly BudgetState[],
	replyTokens = Infinity,
): Amount {
	const [most, least] = [toCounted(whole), toCounted(amount)];
	if (states.every((state) => isPlenty(state, most))) return most;
	if (reply === undefined || states.every((state) => isFree(state) || isPlenty(state, least))) return least;
	const { input, perToken } = reply;
	const usd = perToken.usd === 0 ? 0 : perToken.usd * replyTokens;
	return lesser(least, { tokens: Math.ceil(input.tokens + perToken.tokens * replyTokens), usd: input.usd + usd });
}

/** Whether nothing is reserved. */
function isFree({ reserved }: BudgetState): boolean {
	return reserved.tokens === 0 && reserved.usd === 0;
}

/** Whether all that is reserved, with this amount, is no more than half of what is not spent of a limit. */
function isPlenty({ limit, spent, reserved }: BudgetState, amount: Amount): boolean {
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
