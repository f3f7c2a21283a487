import { expect, test } from 'vitest';
import { findNearest } from '../../../src/core/ground/text.ts';

const names = ['cursor', 'limit', 'owner', 'query'];

test('a slip of the pen finds the name that was meant', () => {
	const slips = { limti: 'limit', Limit: 'limit', lmit: 'limit', limits: 'limit', cursr: 'cursor', q: 'query' };
	for (const [slip, name] of Object.entries(slips)) expect(findNearest(slip, names), slip).toBe(name);
});

test('a word that is like none finds none', () => {
	for (const word of ['', 'utm_source', 'page', 'x', '__proto__', 'limit'.repeat(20_000)])
		expect(findNearest(word, names), word.slice(0, 20)).toBeUndefined();
});
