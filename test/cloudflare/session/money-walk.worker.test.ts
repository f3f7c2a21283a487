/**
 * A random walk over the costs of models, by default with a fixed seed. The long form has other seeds: `npm run
 * endurance -- money --count 10000 --seed 7`. A failure names its seed.
 */
import { expect, test } from 'vitest';
import { walkOverMoney } from './money/index.ts';

declare global {
	interface ImportMeta {
		/** Variables whose names begin with `VITE_`. */
		readonly env: Readonly<Record<string, string | undefined>>;
	}
}

const { VITE_MONEY_RUNS: runs, VITE_MONEY_SEED: seed } = import.meta.env;
const [usualRuns, usualSeed] = [100, 9_000];
const hourMs = 3_600_000;

test('the bills of providers never exceed a cap or the charged amounts', {
	timeout: runs === undefined ? 240_000 : 3 * hourMs,
}, async () => {
	const figures = await walkOverMoney(Number(seed ?? usualSeed), Number(runs ?? usualRuns));
	// `npm run endurance` reads them.
	if (runs !== undefined) console.log(`MONEY ${JSON.stringify(figures)}`);
	expect(figures.messages).toBeGreaterThan(0);
});
