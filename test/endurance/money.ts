import { createSeed } from './random.ts';
import type { Figures, Options } from './stage.ts';
import { runWalk } from './walk.ts';

const file = 'test/cloudflare/session/money-walk.worker.test.ts';

/**
 * A random walk over what models cost: caps of sessions, days and users, with all that providers bill, with crashes and
 * breaks. No cap is passed by what providers bill, and no charge is less. It is the test of that name, with more messages.
 */
export async function money({ count = 10_000, seed = createSeed() }: Options): Promise<Figures> {
	try {
		return await runWalk(file, 'MONEY', { VITE_MONEY_RUNS: String(count), VITE_MONEY_SEED: String(seed) });
	} catch (cause) {
		throw new Error(`${cause instanceof Error ? cause.message : cause} (seed ${seed})`, { cause });
	}
}
