import { RunletError } from '../../core/base/errors.ts';

/** The cost of calls to models: tokens, input and output together, and US dollars. */
export interface Amount {
	readonly tokens: number;
	readonly usd: number;
}

export const nothing: Amount = { tokens: 0, usd: 0 };

/** More than any cap. A part of a request's amount is infinite where nobody knows what the request may cost. */
export const everything: Amount = { tokens: Number.POSITIVE_INFINITY, usd: Number.POSITIVE_INFINITY };

/**
 * Makes an amount with tokens rounded up to a whole number and dollars to a millionth of a millionth. Throws
 * `invalid_argument` for anything but numbers from 0 on, because one such value would spoil every later sum.
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

/** The smaller tokens and the smaller dollars of two amounts. */
export function lesser(a: Amount, b: Amount): Amount {
	return { tokens: Math.min(a.tokens, b.tokens), usd: Math.min(a.usd, b.usd) };
}

/** Removes the error of binary fractions from a sum of dollars. */
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

/** Whether a limit allows no more than another one. */
export function isWithinLimit(limit: Limit, most: Limit): boolean {
	const isWithin = (unit: keyof Limit) => most[unit] === undefined || (limit[unit] ?? Infinity) <= most[unit];
	return isWithin('tokens') && isWithin('usd');
}

/** Whether there is a cap at all. */
export function isBounded({ tokens, usd }: Limit): boolean {
	return tokens !== undefined || usd !== undefined;
}

/** The state of a budget. */
export interface BudgetState {
	readonly limit: Limit;
	/** The cost of settled calls. */
	readonly spent: Amount;
	/** Reserved for calls that are not settled. */
	readonly reserved: Amount;
	/** What is left of each cap, never below 0. */
	readonly left: Limit;
}

export function budgetState(limit: Limit, spent: Amount, reserved: Amount): BudgetState {
	const taken = plus(spent, reserved);
	const { tokens, usd } = minus({ tokens: limit.tokens ?? 0, usd: limit.usd ?? 0 }, taken);
	const left = { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
	return { limit, spent, reserved, left };
}

/** Whether an amount, added to what is spent and reserved, would pass the limit. Reaching it exactly is allowed. */
export function exceedsLimit({ limit, spent, reserved }: Omit<BudgetState, 'left'>, amount: Amount): boolean {
	const { tokens, usd } = plus(plus(spent, reserved), amount);
	return isPast(tokens, limit.tokens) || isPast(usd, limit.usd);
}

/** Whether an amount would pass the limit even if nothing were reserved. */
export function isSpent(state: Omit<BudgetState, 'left'>, amount: Amount): boolean {
	return exceedsLimit({ ...state, reserved: nothing }, amount);
}

/** The negation matters: a cap that is not a number allows nothing. */
function isPast(total: number, cap: number | undefined): boolean {
	return cap !== undefined && !(total <= cap);
}
