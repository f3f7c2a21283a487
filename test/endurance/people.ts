import { createSeed } from './random.ts';
import type { Figures, Options } from './stage.ts';
import { runWalk } from './walk.ts';

const file = 'test/cloudflare/session/people-walk.worker.test.ts';

/**
 * Walks at random over two owners with three users each, in all roles and by every way to the app. Nobody reads,
 * changes or decides anything of another person, and nobody pays for another person. Runs the test of the same
 * name with more steps.
 */
export async function people({ count = 20_000, seed = createSeed() }: Options): Promise<Figures> {
	try {
		return await runWalk(file, 'WALK', { VITE_WALK_STEPS: String(count), VITE_WALK_SEED: String(seed) });
	} catch (cause) {
		throw new Error(`${cause instanceof Error ? cause.message : cause} (seed ${seed})`, { cause });
	}
}
