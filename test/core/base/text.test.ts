import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countBase64Bytes, fromBase64, toBase64 } from '../../../src/core/base/bytes.ts';
import { findNearest, formatDollars, LineSplitter, splitText, truncateText } from '../../../src/core/base/text.ts';

test('never cuts a text within a character', () => {
	expect(truncateText('ab😀c', 3)).toBe('ab');
	expect(truncateText('ab😀c', 4)).toBe('ab😀');
	expect(truncateText('ab', 3)).toBe('ab');
	expect(truncateText('ab', -1)).toBe('');
});

test.each([2, 3, 4, 7])('pieces of length %i join to the same text, and none has half a character', (length) => {
	const text = 'a😀b😀😀c'.repeat(20);
	const pieces = splitText(text, length);
	expect(pieces.join('')).toBe(text);
	for (const piece of pieces) {
		expect(piece.length).toBeLessThanOrEqual(length);
		expect(piece.isWellFormed()).toBe(true);
	}
});

test.each([0, 1, 2, 3, 8_191, 8_192, 8_193, 30_000])('%i bytes stay the same after base64 and back', (length) => {
	const bytes = Uint8Array.from({ length }, (_, at) => (at * 7) % 256);
	const text = toBase64(bytes);
	expect(fromBase64(text)).toEqual(bytes);
	expect(countBase64Bytes(text)).toBe(length);
});

test('formats dollars with cents, or with more digits for a small amount', () => {
	expect([2, 2.5, 0.00042, 1234.5, 0.1234567].map(formatDollars)).toEqual([
		'$2',
		'$2.50',
		'$0.00042',
		'$1,234.50',
		'$0.123457',
	]);
});

const names = ['cursor', 'limit', 'owner', 'query'];

test('finds the name that a mistyped word is similar to', () => {
	const slips = { limti: 'limit', Limit: 'limit', lmit: 'limit', limits: 'limit', cursr: 'cursor', q: 'query' };
	for (const [slip, name] of Object.entries(slips)) expect(findNearest(slip, names), slip).toBe(name);
});

test('finds nothing for a word without a similar name', () => {
	for (const word of ['', 'utm_source', 'page', 'x', '__proto__', 'limit'.repeat(20_000)])
		expect(findNearest(word, names), word.slice(0, 20)).toBeUndefined();
});

test('returns the same lines for any split of a text', () => {
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

test('takes linear time for a line of many pieces', () => {
	const splitter = new LineSplitter();
	for (let n = 0; n < 200_000; n++) splitter.push('0123456789');
	expect(splitter.length).toBe(2_000_000);
	expect(splitter.push('\n')[0]).toHaveLength(2_000_000);
});
