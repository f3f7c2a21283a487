/** The rules by which `npm run bench -- context` counts the cached tokens. */
import { describe, expect, test } from 'vitest';
import { type Block, createMarkedCache, createPrefixCache, hour, minute } from '../../scripts/bench/context/caches.ts';
import { createSession } from '../../scripts/bench/context/sessions.ts';

/** Blocks of 1,000 tokens each. The cache keeps the marked blocks for `keepsMs`. */
const blocks = (names: string, marked: readonly number[] = [], keepsMs = 5 * minute): Block[] =>
	[...names].map((name, at) => ({ text: name.repeat(4_000), ...(marked.includes(at) && { keepsMs }) }));

describe('the cache with marks', () => {
	test('stores a prompt up to its last mark for a limited time, and each read restarts this time', () => {
		const cache = createMarkedCache();
		expect(cache(blocks('abcd', [2]), 0)).toEqual({ input: 4_000, read: 0, written: 3_000, writtenForHour: 0 });
		expect(cache(blocks('abcde', [2]), 4 * minute)).toMatchObject({ read: 3_000, written: 0 });
		expect(cache(blocks('abcde', [2]), 8 * minute)).toMatchObject({ read: 3_000 });
		expect(cache(blocks('abcde', [2]), 14 * minute)).toMatchObject({ read: 0, written: 3_000 });
	});

	test('keeps a prompt for an hour if its mark requests that, and counts the tokens as writtenForHour', () => {
		const cache = createMarkedCache();
		expect(cache(blocks('abc', [2], hour), 0)).toMatchObject({ written: 3_000, writtenForHour: 3_000 });
		expect(cache(blocks('abcd', [3], hour), 59 * minute)).toMatchObject({ read: 3_000, written: 1_000 });
	});

	test('reads neither a changed prompt nor a prefix shorter than 1,024 tokens', () => {
		const cache = createMarkedCache();
		cache(blocks('abc', [0, 2]), 0);
		expect(cache(blocks('abx', [2]), 1)).toMatchObject({ read: 0 });
		expect(cache(blocks('axx', [0]), 1)).toMatchObject({ read: 0, written: 0 });
	});

	test('looks for an entry at most 20 blocks before a mark', () => {
		const cache = createMarkedCache();
		const names = 'abcdefghijklmnopqrstuvwxyz';
		cache(blocks(names.slice(0, 3), [2]), 0);
		expect(cache(blocks(names.slice(0, 22), [21]), 1)).toMatchObject({ read: 3_000 });
		cache(blocks('ABC', [2]), 2);
		expect(cache(blocks(`ABC${names.slice(0, 20)}`, [22]), 3)).toMatchObject({ read: 0 });
	});
});

describe('the cache of common prefixes', () => {
	test('reads a multiple of 128 tokens above a minimum, until the entry expires', () => {
		const cache = createPrefixCache();
		expect(cache(blocks('ab'), 0)).toMatchObject({ input: 2_000, read: 0 });
		expect(cache(blocks('abc'), minute)).toMatchObject({ read: 1_920, written: 0 });
		expect(cache(blocks('ax'), 2 * minute)).toMatchObject({ read: 0 });
		expect(cache(blocks('abcd'), 13 * minute)).toMatchObject({ read: 0 });
	});
});

test('the same seeds make the same sessions, each of at least 20 exchanges', () => {
	for (const seed of [0, 1, 2]) {
		const session = createSession(seed);
		expect(createSession(seed)).toEqual(session);
		expect(session.exchanges.length).toBeGreaterThanOrEqual(20);
	}
	expect(createSession(1).tools.some(({ isRemote }) => isRemote)).toBe(true);
	expect(createSession(2).tools.length).toBeGreaterThan(40);
});
