import { expect, test } from 'vitest';
import { countBase64Bytes, fromBase64, toBase64 } from '../../../src/core/ground/bytes.ts';
import { formatDollars, splitText, truncateText } from '../../../src/core/ground/text.ts';

test('a text is cut in front of a character that would be cut in two', () => {
	expect(truncateText('ab😀c', 3)).toBe('ab');
	expect(truncateText('ab😀c', 4)).toBe('ab😀');
	expect(truncateText('ab', 3)).toBe('ab');
	expect(truncateText('ab', -1)).toBe('');
});

test.each([2, 3, 4, 7])('pieces of %i make the text again, and none holds half a character', (length) => {
	const text = 'a😀b😀😀c'.repeat(20);
	const pieces = splitText(text, length);
	expect(pieces.join('')).toBe(text);
	for (const piece of pieces) {
		expect(piece.length).toBeLessThanOrEqual(length);
		expect(piece.isWellFormed()).toBe(true);
	}
});

test.each([0, 1, 2, 3, 8_191, 8_192, 8_193, 30_000])('%i bytes as base64 are the same bytes again', (length) => {
	const bytes = Uint8Array.from({ length }, (_, at) => (at * 7) % 256);
	const text = toBase64(bytes);
	expect(fromBase64(text)).toEqual(bytes);
	expect(countBase64Bytes(text)).toBe(length);
});

test('dollars have cents, or as many digits as a small amount needs', () => {
	expect([2, 2.5, 0.00042, 1234.5, 0.1234567].map(formatDollars)).toEqual([
		'$2',
		'$2.50',
		'$0.00042',
		'$1,234.50',
		'$0.123457',
	]);
});
