import { RunletError } from '../../core/ground/errors.ts';

/** What calls to models cost, or may cost: tokens, input and output together, and US dollars. */
export interface Amount {
	readonly tokens: number;
	readonly usd: number;
}

export const nothing: Amount = { tokens: 0, usd: 0 };

/**
 * An amount that can be counted with: tokens rounded up to a whole number, dollars to a millionth of a millionth. Throws
 * `invalid_argument` for what is no number from 0 on, as one such would spoil every sum after it.
 */
export function createAmount({ tokens, usd }: Amount): Amount {
	return { tokens: Math.ceil(checkCount('tokens', tokens)), usd: roundDollars(checkCount('usd', usd)) };
}

export function plus(a: Amount, b: Amount): Amount {
	return { tokens: a.tokens + b.tokens, usd: roundDollars(a.usd + b.usd) };
}

/** `a` without `b`, never less than nothing. */
export function minus(a: Amount, b: Amount): Amount {
	return { tokens: Math.max(0, a.tokens - b.tokens), usd: Math.max(0, roundDollars(a.usd - b.usd)) };
}

/** Dollars without what binary fractions add to a sum. */
function roundDollars(sum: number): number {
	return Math.round(sum * 1e12) / 1e12;
}

function checkCount(field: keyof Amount, value: number): number {
	if (Number.isFinite(value) && value >= 0) return value;
	throw new RunletError('invalid_argument', `${field}: must be a number from 0 on, got ${value}.`, { field });
}

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
