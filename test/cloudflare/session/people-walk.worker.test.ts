/**
 * Random walks over two owners with three users each, in all roles and by every way in. The long form is
 * `npm run endurance -- people --count 20000 --seed 7`.
 */
import { expect, test } from 'vitest';
import { walkOn } from './walk/index.ts';

declare global {
	interface ImportMeta {
		/** Variables whose names begin with `VITE_`. */
		readonly env: Readonly<Record<string, string | undefined>>;
	}
}

const { VITE_WALK_STEPS: steps = '400', VITE_WALK_SEED: seed = String(Math.floor(Math.random() * 1_000_000)) } =
	import.meta.env;

test('a walk of any length shows nobody what belongs to another person, and tells tools whose session they work in', {
	timeout: 7_200_000,
}, async () => {
	const figures = await walkOn(Number(seed), Number(steps));
	console.log(`WALK ${JSON.stringify(figures)}`);
	expect(figures.steps).toBe(Number(steps));
});
