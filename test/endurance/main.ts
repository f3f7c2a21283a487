/**
 * `npm run endurance`: shows that sessions survive crashes (docs/crashes.md), and prints its measurements. Runs all
 * programmes in their long form, or the named programme: `npm run endurance -- kills --count 200 --seed 7`.
 */
import { parseOptions } from '../../src/command/options.ts';
import { toMessageText } from '../../src/core/base/errors.ts';
import { programmes, report } from './programmes.ts';

const usage = `npm run endurance [-- NAMES OPTIONS]: shows what sessions survive, by all programmes or those that are named
  ${Object.keys(programmes).join(' | ')}
  --count N, --kills N, --size N   how much of it
  --seed N            the same chance again
  --help              this text`;

const number = { type: 'string' } as const;
const { values, positionals } = readArguments();
const read = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
const options = {
	count: read(values.count),
	kills: read(values.kills),
	seed: read(values.seed),
	size: read(values.size),
};

const names = Object.keys(programmes);
const unknown = positionals.find((name) => !names.includes(name));
if (values.help) {
	console.log(usage);
	process.exit(0);
}
if (unknown !== undefined || Object.values(options).some(Number.isNaN)) {
	console.error(usage);
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

function readArguments() {
	try {
		return parseOptions('npm run endurance -- --help', {
			args: process.argv.slice(2),
			allowPositionals: true,
			options: { count: number, kills: number, seed: number, size: number, help: { type: 'boolean', short: 'h' } },
		});
	} catch (error) {
		console.error(toMessageText(error));
		process.exit(2);
	}
}
