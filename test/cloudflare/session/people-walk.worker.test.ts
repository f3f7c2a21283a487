/**
 * A random walk over two owners with three users each, in all roles and through all entrances, checked against a model
 * of the Worker. The long form is `npm run endurance -- people --count 20000 --seed 7`. A failure names its seed.
 */
import { expect, test } from 'vitest';
import { walkOn } from './walk/index.ts';

declare global {
	interface ImportMeta {
		/** Variables whose names begin with `VITE_`. */
		readonly env: Readonly<Record<string, string | undefined>>;
	}
}

const { VITE_WALK_STEPS: steps, VITE_WALK_SEED: seed } = import.meta.env;
const usualSteps = 300;
const hourMs = 3_600_000;

test('in a random walk, two owners and their users see no data of each other', {
	timeout: steps === undefined ? 240_000 : 2 * hourMs,
}, async () => {
	const figures = await walkOn(Number(seed ?? Math.floor(Math.random() * 1_000_000)), Number(steps ?? usualSteps));
	// `npm run endurance` reads them.
	if (steps !== undefined) console.log(`WALK ${JSON.stringify(figures)}`);
	expect(figures.steps).toBeGreaterThan(0);
});
