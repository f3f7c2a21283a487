import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createExcerpt, splitWords, toIndexedText } from '../../../src/cloudflare/objects/words.ts';

const excerpt = (text: string, query: string) => createExcerpt(toIndexedText(text), splitWords(query));
const long = 'word '.repeat(100);

test.each([
	['They refunded it.', 'refund', 'They refunded it.'],
	['A refund\n\nof   tea.', 'refunds', 'A refund of tea.'],
	['Le CAFÉ est fermé.', 'cafe', 'Le CAFÉ est fermé.'],
	['Le cafe est ferme.', 'café', 'Le cafe est ferme.'],
	['我要退款,谢谢。', '退款', '我要退款,谢谢。'],
	['Ask the team.', 'tea', undefined],
	['Nothing.', 'refund', undefined],
])('the excerpt of %j for %j is in one line, and is missing without the word', (text, query, expected) => {
	expect(excerpt(text, query)).toBe(expected);
});

test('an excerpt of a long text has the longest searched word in its middle', () => {
	const found = excerpt(`${long}a teapot of tea ${long}`, 'tea teapot');
	expect(found).toMatch(/^….{70,90}teapot.*…$/);
});

test('an excerpt is a part of the text, has the word, and at most 160 characters', () => {
	const texts = fc.array(fc.constantFrom('tea', 'Straße', 'İstanbul', '退款', '😀', 'é', ' ', '\n', 'xyz '), {
		maxLength: 200,
	});
	fc.assert(
		fc.property(texts, texts, (before, after) => {
			const text = `${before.join('')} needle ${after.join('')}`;
			const found = excerpt(text, 'needle') ?? '';
			const bare = found.replace(/^…|…$/g, '');
			expect(bare.length).toBeLessThanOrEqual(160);
			expect(text.normalize().replace(/\s+/g, ' ')).toContain(bare);
			expect(bare).toContain('needle');
			expect(bare.isWellFormed()).toBe(true);
		}),
	);
});
