import { expect, test } from 'vitest';
import { chooseCacheLifetime } from '../../../src/cloudflare/session/run/cache-lifetime.ts';
import { chat } from '../../../src/core/index.ts';

/** A session with these pauses before its messages, in minutes. */
function createHistory(...pauses: readonly number[]) {
	let now = 0;
	return pauses.flatMap((minutes) => {
		now += minutes * 60_000;
		return [
			{ message: chat.userMessage('Hello'), createdAt: now },
			{ message: chat.assistantMessage('Hi'), createdAt: now },
		];
	});
}

test.each([
	['a new session', [], '5m'],
	['a session without pauses', [0, 1, 2, 1, 4], '5m'],
	['a session whose pauses an hour outlives', [0, 10, 30, 20], '1h'],
	['a session with one such pause at its end', [0, 1, 1, 1, 1, 1, 1, 1, 20], '1h'],
	['a session with one such pause at its beginning', [0, 10, 1, 1, 1, 1, 1, 1], '5m'],
	['a session whose pauses are longer than an hour', [0, 90, 300, 61], '5m'],
] as const)('%s keeps its prompt as long as it is cheaper', (_, pauses, lifetime) => {
	expect(chooseCacheLifetime(createHistory(...pauses))).toBe(lifetime);
});
