/**
 * `npm run endurance`: shows that sessions survive (hardening.md, "What must be shown"), and prints what it measured. All
 * programmes in their long form, or the one that is named: `npm run endurance -- kills --count 200 --seed 7`.
 */
import { parseArgs } from 'node:util';
import { programmes, report } from './programmes.ts';

const number = { type: 'string' } as const;
const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { count: number, kills: number, seed: number, size: number },
});
const read = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
const options = {
	count: read(values.count),
	kills: read(values.kills),
	seed: read(values.seed),
	size: read(values.size),
};

const names = Object.keys(programmes);
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined || Object.values(options).some(Number.isNaN)) {
	console.error(`Usage: npm run endurance -- [${names.join(' | ')}] [--count N] [--kills N] [--seed N] [--size N]`);
	process.exit(1);
}
for (const [name, programme] of Object.entries(programmes)) {
	if (positionals.length > 0 && !positionals.includes(name)) continue;
	const begun = performance.now();
	try {
		report(name, await programme(options), performance.now() - begun);
	} catch (error) {
		console.error(`${name}: FAILED: ${error instanceof Error ? error.message : error}`);
		process.exitCode = 1;
	}
}
