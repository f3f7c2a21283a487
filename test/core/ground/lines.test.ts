import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LineSplitter } from '../../../src/core/ground/bytes.ts';

test('the lines of a text are the same, wherever its pieces are cut', () => {
	const piece = fc.string({ unit: fc.constantFrom('a', 'ü', '\n', '\r', ' '), maxLength: 12 });
	fc.assert(
		fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
			const splitter = new LineSplitter();
			const lines = pieces.flatMap((text) => splitter.push(text));
			const whole = pieces.join('').split('\n');
			const rest = whole.pop() ?? '';
			expect(splitter.length).toBe(rest.length);
			expect(lines).toEqual(whole.filter((line) => line !== ''));
			expect(splitter.end()).toBe(rest);
			expect(splitter.length).toBe(0);
		}),
	);
});

test('a line of many pieces costs no more than its length', () => {
	const splitter = new LineSplitter();
	for (let n = 0; n < 200_000; n++) splitter.push('0123456789');
	expect(splitter.length).toBe(2_000_000);
	expect(splitter.push('\n')[0]).toHaveLength(2_000_000);
});
