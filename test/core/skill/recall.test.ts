import { expect, test } from 'vitest';
import { recallAt5, unknown } from './recall.ts';

test('every skill that a query is to find is in the corpus', () => {
	expect(unknown).toEqual([]);
});

test('full text finds what was meant more often than substrings do, of the whole query or of each word', () => {
	const { substring = 1, 'substring of each word': ofWords = 1, 'full text': fullText = 0 } = recallAt5;
	expect(fullText).toBeGreaterThan(substring);
	expect(fullText).toBeGreaterThan(ofWords);
});
