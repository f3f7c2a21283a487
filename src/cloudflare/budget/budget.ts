import { type Amount, minus, plus } from './amount.ts';

/** The most that may be spent: a cap on tokens, on US dollars, on both or on neither. */
export interface Limit {
	readonly tokens?: number;
	readonly usd?: number;
}

/** Whether there is a cap at all. */
export function isBounded({ tokens, usd }: Limit): boolean {
	return tokens !== undefined || usd !== undefined;
}

/** Where a budget stands. */
export interface BudgetState {
	readonly limit: Limit;
	/** What settled calls came to. */
	readonly spent: Amount;
	/** Set aside for calls that are not settled. */
	readonly reserved: Amount;
	/** What is neither, of what has a cap; never below 0. */
	readonly left: Limit;
}

export function budgetState(limit: Limit, spent: Amount, reserved: Amount): BudgetState {
	const taken = plus(spent, reserved);
	const { tokens, usd } = minus({ tokens: limit.tokens ?? 0, usd: limit.usd ?? 0 }, taken);
	const left = { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
	return { limit, spent, reserved, left };
}

/** Whether an amount on top of what is spent and reserved would go past the limit. To reach it exactly is allowed. */
export function exceedsLimit({ limit, spent, reserved }: Omit<BudgetState, 'left'>, amount: Amount): boolean {
	const { tokens, usd } = plus(plus(spent, reserved), amount);
	return isPast(tokens, limit.tokens) || isPast(usd, limit.usd);
}

/** Written so that a cap that is no number allows nothing. */
function isPast(total: number, cap: number | undefined): boolean {
	return cap !== undefined && !(total <= cap);
}
