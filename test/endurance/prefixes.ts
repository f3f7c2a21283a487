import * as fc from 'fast-check';
import { apis } from '../core/providers/prefix/apis.ts';
import { findBreak, plans, playSession, toExpected } from '../core/providers/prefix/walk.ts';
import { createSeed } from './random.ts';
import type { Figures, Options } from './stage.ts';

/** Checks random sessions at every provider: each request starts with the whole previous request (docs/costs.md). */
export async function prefixes({ count = 1_000, seed = createSeed() }: Options): Promise<Figures> {
	let requests = 0;
	for (const api of apis) {
		const holds = fc.asyncProperty(plans, async (plan) => {
			const sent = await playSession(api, plan);
			requests += sent.length;
			const broken = findBreak(toExpected(api, plan), sent);
			if (broken !== undefined) throw new Error(`${api.name}: ${broken}`);
		});
		await fc.assert(holds, { numRuns: count, seed });
	}
	return { seed, sessions: count * apis.length, requests, 'with the whole request before': '100 %' };
}
