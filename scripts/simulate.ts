/**
 * `npm run simulate`: how the objects of owners bear new runs, in virtual time (docs/scale.md, "Simulation"). The same
 * options print the same table.
 */
import { parseOptions } from '../src/command/options.ts';
import { toTable } from './bench/table.ts';
import { estimateWakes, type Outcome, simulate, type World } from './simulate/model.ts';

const usage = `npm run simulate [-- OPTIONS]: plays the new runs of owners in virtual time, and says how long their objects work
  --owners N      owners (1)
  --users N       users of all owners (10000000)
  --rate N        new runs a second, of all owners (5000)
  --seconds N     how long they come (5)
  --shards N      shards of an owner: 64 if it is large, else 1 (64)
  --schedules N   schedules that are due in the same minute (100000)
  --ledger MS, --directory MS, --wake MS
                  milliseconds of an object for a call, as npm run bench -- scale measures the first two (0.31, 0.23, 34)
  --seed N        another chance (1)
  --help          this text`;

const defaults = {
	...{ owners: 1, users: 10_000_000, rate: 5_000, seconds: 5, shards: 64, schedules: 100_000 },
	...{ ledger: 0.31, directory: 0.23, wake: 34, seed: 1 },
};

type Name = keyof typeof defaults;

function readOptions(): { readonly help: boolean; readonly read: (name: Name) => number } {
	const number = { type: 'string' } as const;
	const options = {
		...{ owners: number, users: number, rate: number, seconds: number, shards: number, schedules: number },
		...{ ledger: number, directory: number, wake: number, seed: number },
		help: { type: 'boolean', short: 'h' },
	} as const;
	const { values } = parseOptions('npm run simulate -- --help', { args: process.argv.slice(2), options });
	const read = (name: Name): number => {
		const value = Number(values[name] ?? defaults[name]);
		if (Number.isFinite(value) && value > 0) return value;
		throw new TypeError(`--${name}: must be a number above 0, such as --${name} ${defaults[name]}.`);
	};
	return { help: values.help === true, read };
}

function showOutcome(world: World, { runs, refused, kinds, setAside }: Outcome): string {
	const about = `${runs} runs of ${world.users} users in ${world.seconds} s, ${refused} refused`;
	const rows = Object.entries(kinds).map(([name, kind]) => [
		...[name, String(kind.objects), String(kind.calls), `${(100 * kind.busiest).toFixed(1)} %`],
		...[kind.waitP50.toFixed(2), kind.waitP99.toFixed(2)],
	]);
	const heads = ['object', 'how many', 'calls', 'the busiest works', 'wait, ms, p50', 'p99'];
	return `${about}; at the end ${setAside} tokens are set aside\n\n${toTable([heads, ...rows])}`;
}

try {
	const { help, read } = readOptions();
	if (help) console.log(usage);
	else {
		const world = {
			...{ owners: read('owners'), users: read('users'), rate: read('rate'), seconds: read('seconds') },
			...{ shards: read('shards'), seed: read('seed') },
			service: { ledger: read('ledger'), directory: read('directory') },
		};
		console.log(showOutcome(world, await simulate(world)));
		const { lastMs } = estimateWakes({ schedules: read('schedules'), shards: world.shards, wakeMs: read('wake') });
		const late = (lastMs / 1_000).toFixed(1);
		console.log(`\nOf ${read('schedules')} schedules of one minute, the last wakes ${late} s after its time.`);
	}
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
}
