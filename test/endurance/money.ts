import { createSeed } from './random.ts';
import type { Figures, Options } from './stage.ts';
import { runWalk } from './walk.ts';

const file = 'test/cloudflare/session/money-walk.worker.test.ts';

/**
 * Walks at random over the costs of models: budgets of sessions, days and users, all billed items, crashes and storage
 * errors. No provider's bill exceeds a budget, and no charge is below the bill. Runs the test of the same name with more
 * messages.
 */
export async function money({ count = 10_000, seed = createSeed() }: Options): Promise<Figures> {
	try {
		return await runWalk(file, 'MONEY', { VITE_MONEY_RUNS: String(count), VITE_MONEY_SEED: String(seed) });
	} catch (cause) {
		throw new Error(`${cause instanceof Error ? cause.message : cause} (seed ${seed})`, { cause });
	}
}
