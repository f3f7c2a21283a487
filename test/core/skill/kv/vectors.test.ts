import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readVectors, toBytes } from '../../../../src/core/skill/kv/search.ts';

const base64 = (rows: readonly Int8Array[]) =>
	btoa(rows.flatMap((row) => [...row].map((byte) => String.fromCharCode(byte & 255))).join(''));
const createVectors = (rows: readonly (readonly number[])[]) => {
	const names = rows.map((_, at) => String(at));
	return readVectors({ model: 'm', names, texts: names, values: base64(rows.map(toBytes)) });
};

describe('vectors', () => {
	test('the nearest come first; what points away is not found', () => {
		const find = createVectors([
			[1, 0],
			[1, 1],
			[-1, 0],
		]);
		expect(find([2, 0.1], () => true).map(([name]) => name)).toEqual(['0', '1']);
		expect(find([2, 0.1], (name) => name !== '0').map(([name]) => name)).toEqual(['1']);
	});

	test('a byte a number keeps the cosine to a hundredth', () => {
		const vector = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 64, maxLength: 64 });
		fc.assert(
			fc.property(vector, vector, (a, b) => {
				const dot = a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
				const exact = dot / (Math.hypot(...a) * Math.hypot(...b));
				fc.pre(exact > 0.02);
				expect(createVectors([a])(b, () => true)[0]?.[1]).toBeCloseTo(exact, 1.7);
			}),
		);
	});

	test('a vector of zeros is near nothing', () => {
		expect(createVectors([[0, 0]])([1, 1], () => true)).toEqual([]);
		expect(createVectors([[1, 1]])([0, 0], () => true)).toEqual([]);
	});

	test('half a vector, and a query of another length, are refused', () => {
		expect(() => readVectors({ model: 'm', names: ['a', 'b'], texts: [], values: btoa('abc') })).toThrow('3 numbers');
		expect(() => createVectors([[1, 1]])([1], () => true)).toThrow('dimensions');
		expect(createVectors([])([1], () => true)).toEqual([]);
	});
});
