/** Times in words. */
import { expect, test } from 'vitest';
import { describeAge } from '../../src/page/parts/time.ts';

const hour = 3_600_000;

test.each([
	['in 2 days', 47.5 * hour],
	['in 1 day', 25 * hour],
	['1 day ago', -30 * hour],
	['in 5 hr.', 5 * hour],
	['2 min. ago', -hour / 30],
	['in a moment', 30_000],
	['just now', -30_000],
])('says "%s" of a time that far away', (words, ms) => {
	const now = Date.parse('2026-01-01T00:00:00.000Z');
	expect(describeAge(new Date(now + ms).toISOString(), now)).toBe(words);
});
