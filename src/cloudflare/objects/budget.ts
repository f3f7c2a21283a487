import { createFieldError } from '../../core/base/errors.ts';
import type { amount, limit, budgetState as stateSchema } from '../wire/budget.ts';
import type { Shown } from '../wire/operation.ts';

/** The cost of calls to models: tokens, input and output together, and US dollars. */
export type Amount = Shown<typeof amount>;

export const nothing: Amount = { tokens: 0, usd: 0 };

/** More than any cap. The amount of a request is infinite where its cost has no known bound. */
export const everything: Amount = { tokens: Number.POSITIVE_INFINITY, usd: Number.POSITIVE_INFINITY };

/** Rounds up to whole tokens, and rounds to 1e-12 dollars. Throws `invalid_argument` for less than 0, or NaN. */
export function createAmount({ tokens, usd }: Amount): Amount {
	return { tokens: Math.ceil(checkCount('tokens', tokens)), usd: roundDollars(checkCount('usd', usd)) };
}

export function plus(a: Amount, b: Amount): Amount {
	return { tokens: a.tokens + b.tokens, usd: roundDollars(a.usd + b.usd) };
}

export function minus(a: Amount, b: Amount): Amount {
	return { tokens: Math.max(0, a.tokens - b.tokens), usd: Math.max(0, roundDollars(a.usd - b.usd)) };
}

export function lesser(a: Amount, b: Amount): Amount {
	return { tokens: Math.min(a.tokens, b.tokens), usd: Math.min(a.usd, b.usd) };
}

function roundDollars(sum: number): number {
	return Math.round(sum * 1e12) / 1e12;
}

function checkCount(field: keyof Amount, value: number): number {
	if (Number.isFinite(value) && value >= 0) return value;
	throw createFieldError('invalid_argument', field, `must be a number from 0 on, got ${value}.`);
}

/** A missing field has no cap. */
export type Limit = Shown<typeof limit>;

export function isWithinLimit(limit: Limit, most: Limit): boolean {
	const isWithin = (unit: keyof Limit) => most[unit] === undefined || (limit[unit] ?? Infinity) <= most[unit];
	return isWithin('tokens') && isWithin('usd');
}

export function isBounded({ tokens, usd }: Limit): boolean {
	return tokens !== undefined || usd !== undefined;
}

export type BudgetState = Shown<typeof stateSchema>;

export function budgetState(limit: Limit, spent: Amount, reserved: Amount): BudgetState {
	const held = plus(spent, reserved);
	const { tokens, usd } = minus({ tokens: limit.tokens ?? 0, usd: limit.usd ?? 0 }, held);
	const left = { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
	return { limit, spent, reserved, left };
}

export function exceedsLimit({ limit, spent, reserved }: Omit<BudgetState, 'left'>, amount: Amount): boolean {
	const { tokens, usd } = plus(plus(spent, reserved), amount);
	return isPast(tokens, limit.tokens) || isPast(usd, limit.usd);
}

/** Whether an amount would pass the limit even if nothing were reserved. */
export function isSpent(state: Omit<BudgetState, 'left'>, amount: Amount): boolean {
	return exceedsLimit({ ...state, reserved: nothing }, amount);
}

/** The negation matters: NaN as a cap allows nothing. */
function isPast(total: number, cap: number | undefined): boolean {
	return cap !== undefined && !(total <= cap);
}
