import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashContent } from '../../../../src/core/skill/kv/content-hash.ts';

const expected = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32);

test('a content hash is the beginning of the SHA-256 of a text, whatever its length and letters', () => {
	for (let length = 0; length < 200; length++)
		expect(hashContent('x'.repeat(length))).toBe(expected('x'.repeat(length)));
	fc.assert(
		fc.property(fc.string({ unit: 'grapheme', maxLength: 500 }), (text) => hashContent(text) === expected(text)),
	);
});
