import fc from 'fast-check';
import { expect, test } from 'vitest';
import { computeWilson } from '../../src/testing/wilson.ts';

const counts = fc.nat({ max: 10_000 }).chain((count) => fc.tuple(fc.nat({ max: count }), fc.constant(count)));

test('the interval is within 0 and 1, and has the rate in it', () => {
	fc.assert(
		fc.property(counts, ([passed, count]) => {
			const [low, high] = computeWilson(passed, count);
			const rate = count === 0 ? 0.5 : passed / count;
			return 0 <= low && low <= rate && rate <= high && high <= 1;
		}),
	);
});

test('the interval of failures mirrors that of passes', () => {
	fc.assert(
		fc.property(counts, ([passed, count]) => {
			const [low, high] = computeWilson(passed, count);
			const [other, one] = computeWilson(count - passed, count);
			expect(1 - one).toBeCloseTo(low, 10);
			expect(1 - other).toBeCloseTo(high, 10);
		}),
	);
});

test('more trials with the same rate give a narrower interval', () => {
	fc.assert(
		fc.property(
			fc.nat({ max: 50 }),
			fc.integer({ min: 50, max: 100 }),
			fc.integer({ min: 2, max: 9 }),
			(some, all, times) => {
				const [low, high] = computeWilson(some, all);
				const [lower, higher] = computeWilson(some * times, all * times);
				return higher - lower < high - low;
			},
		),
	);
});

test.each([
	[0, 10, 0, 0.2775],
	[10, 10, 0.7225, 1],
	[8, 10, 0.4902, 0.9433],
	[50, 100, 0.4038, 0.5962],
])('the interval of %d in %d is the published one', (passed, count, low, high) => {
	const [lower, higher] = computeWilson(passed, count);
	expect(lower).toBeCloseTo(low, 4);
	expect(higher).toBeCloseTo(high, 4);
});
