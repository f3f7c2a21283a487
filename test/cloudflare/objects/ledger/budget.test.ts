import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
	budgetState,
	createAmount,
	exceedsLimit,
	type Limit,
	minus,
	nothing,
	plus,
} from '../../../../src/cloudflare/objects/budget.ts';

const amount = fc
	.record({ tokens: fc.nat(2_000_000), usd: fc.double({ min: 0, max: 50, noNaN: true }) })
	.map((one) => createAmount(one));
const limit: fc.Arbitrary<Limit> = fc.record(
	{
		tokens: fc.integer({ min: 1, max: 10_000_000 }),
		usd: fc.integer({ min: 1, max: 20_000 }).map((cents) => cents / 100),
	},
	{ requiredKeys: [] },
);

test('sums of dollars have no rounding errors, and a subtraction undoes an addition', () => {
	expect(plus({ tokens: 1, usd: 0.1 }, { tokens: 2, usd: 0.2 })).toEqual({ tokens: 3, usd: 0.3 });
	fc.assert(
		fc.property(fc.array(amount), amount, (before, one) => {
			const sum = before.reduce(plus, nothing);
			expect(minus(plus(sum, one), one)).toEqual(sum);
		}),
	);
});

test('a difference is never below 0', () => {
	expect(minus({ tokens: 1, usd: 0.1 }, { tokens: 2, usd: 0.2 })).toEqual(nothing);
});

test('rounds tokens up, and refuses an amount that is negative or not a finite number', () => {
	expect(createAmount({ tokens: 10.2, usd: 0.1 + 0.2 })).toEqual({ tokens: 11, usd: 0.3 });
	for (const wrong of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
		expect(() => createAmount({ tokens: wrong, usd: 0 })).toThrow(/^tokens: must be a number from 0 on/);
		expect(() => createAmount({ tokens: 0, usd: wrong })).toThrow(/^usd: must be a number from 0 on/);
	}
});

test('an amount exceeds the limit exactly if its sum with the spent and reserved amounts exceeds a cap', () => {
	const units = (usd: number) => BigInt(Math.round(usd * 1e12));
	fc.assert(
		fc.property(limit, amount, amount, amount, (most, spent, reserved, one) => {
			const all = [spent, reserved, one];
			const tokens = all.reduce((sum, part) => sum + part.tokens, 0);
			const usd = all.reduce((sum, part) => sum + units(part.usd), 0n);
			const past =
				(most.tokens !== undefined && tokens > most.tokens) || (most.usd !== undefined && usd > units(most.usd));
			expect(exceedsLimit({ limit: most, spent, reserved }, one)).toBe(past);
		}),
	);
});

test('an amount fits if it equals the rest of the budget, and does not fit if it is larger', () => {
	fc.assert(
		fc.property(limit, amount, amount, (most, spent, reserved) => {
			const state = budgetState(most, spent, reserved);
			expect(Object.keys(state.left).sort()).toEqual(Object.keys(most).sort());
			const { tokens = 0, usd = 0 } = state.left;
			expect(tokens >= 0 && usd >= 0).toBe(true);
			if (exceedsLimit(state, nothing)) return;
			expect(exceedsLimit(state, { tokens, usd })).toBe(false);
			if (most.tokens !== undefined) expect(exceedsLimit(state, { tokens: tokens + 1, usd })).toBe(true);
			if (most.usd !== undefined) expect(exceedsLimit(state, { tokens, usd: usd + 1e-6 })).toBe(true);
		}),
	);
});

test('an amount can reach a cap but not exceed it, and a cap of NaN allows nothing', () => {
	const at = (most: Limit) => budgetState(most, { tokens: 60, usd: 0.1 }, { tokens: 30, usd: 0.2 });
	expect(exceedsLimit(at({ tokens: 100 }), { tokens: 10, usd: 9 })).toBe(false);
	expect(exceedsLimit(at({ tokens: 100 }), { tokens: 11, usd: 0 })).toBe(true);
	expect(exceedsLimit(at({ usd: 0.6 }), { tokens: 0, usd: 0.3 })).toBe(false);
	expect(exceedsLimit(at({ usd: 0.6 }), { tokens: 0, usd: 0.300001 })).toBe(true);
	expect(exceedsLimit(at({ usd: Number.NaN }), nothing)).toBe(true);
	expect(exceedsLimit(at({ tokens: undefined }), { tokens: 1e9, usd: 1e9 })).toBe(false);
	expect(at({ tokens: undefined }).left).toEqual({});
});

test('an overspent budget allows nothing, not even an amount of 0', () => {
	expect(exceedsLimit(budgetState({ tokens: 10 }, { tokens: 11, usd: 0 }, nothing), nothing)).toBe(true);
});
