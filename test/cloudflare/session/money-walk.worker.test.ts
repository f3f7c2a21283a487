/**
 * A random walk over what models cost. The long form is `npm run endurance -- money --count 10000 --seed 7`; a failure names
 * its seed.
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
const usualRuns = 100;
const hourMs = 3_600_000;

test('no cap is passed by what providers bill, and no charge is less than their bill', {
	timeout: runs === undefined ? 240_000 : 3 * hourMs,
}, async () => {
	const figures = await walkOverMoney(Number(seed ?? Math.floor(Math.random() * 1_000_000)), Number(runs ?? usualRuns));
	// `npm run endurance` reads them.
	if (runs !== undefined) console.log(`MONEY ${JSON.stringify(figures)}`);
	expect(figures.messages).toBeGreaterThan(0);
});
