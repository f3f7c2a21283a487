import { expect, test } from 'vitest';
import { recallAt5, unknown } from './recall.ts';

test('every expected skill is in the corpus', () => {
	expect(unknown).toEqual([]);
});

test('full-text search finds the expected skill more often than substring search', () => {
	const { substring = 1, 'substring of each word': ofWords = 1, 'full text': fullText = 0 } = recallAt5;
	expect(fullText).toBeGreaterThan(substring);
	expect(fullText).toBeGreaterThan(ofWords);
});
