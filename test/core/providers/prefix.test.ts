/** Each request of a session begins with the previous request, so that a provider's cache can be used. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apis } from './prefix/apis.ts';
import { findBreak, plans, playSession, toExpected } from './prefix/walk.ts';

describe.each(apis)('$name', (api) => {
	test('each request of a random session begins with the whole previous request', async () => {
		await fc.assert(
			fc.asyncProperty(plans, async (plan) => {
				expect(findBreak(toExpected(api, plan), await playSession(api, plan))).toBeUndefined();
			}),
			{ numRuns: 40 },
		);
	});
});
