import { RunletError } from '../../core/errors.ts';

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
