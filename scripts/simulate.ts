/**
 * `npm run simulate -- --owners 1 --users 10000000 --rate 5000`: how the objects of owners bear new runs, in virtual time
 * (docs/scale.md, "Simulation"). The same options print the same table.
 */
import { parseArgs } from 'node:util';
import { toTable } from './bench/table.ts';
import { estimateWakes, simulate } from './simulate/model.ts';

const { values } = parseArgs({
	options: {
		owners: { type: 'string', default: '1' },
		users: { type: 'string', default: '10000000' },
		/** New runs a second. */
		rate: { type: 'string', default: '5000' },
		seconds: { type: 'string', default: '5' },
		/** Shards of an owner: 64 for a large one. */
		shards: { type: 'string', default: '64' },
		/** Schedules that are due in the same minute. */
		schedules: { type: 'string', default: '100000' },
		seed: { type: 'string', default: '1' },
		/** Milliseconds of an object for a call, as `npm run bench -- scale` measures them. */
		ledger: { type: 'string', default: '0.31' },
		directory: { type: 'string', default: '0.23' },
		wake: { type: 'string', default: '2' },
	},
});
const read = (name: keyof typeof values): number => {
	const value = Number(values[name]);
	if (Number.isFinite(value) && value > 0) return value;
	throw new Error(`--${name}: must be a number above 0, such as --${name} 10`);
};
const world = {
	...{ owners: read('owners'), users: read('users'), rate: read('rate'), seconds: read('seconds') },
	...{ shards: read('shards'), seed: read('seed') },
	service: { ledger: read('ledger'), directory: read('directory') },
};
const { runs, refused, kinds, setAside } = await simulate(world);
console.log(
	`${runs} runs of ${world.users} users in ${world.seconds} s, ${refused} refused; at the end ${setAside} tokens are set aside\n`,
);
console.log(
	toTable([
		['object', 'how many', 'calls', 'the busiest works', 'wait, ms, p50', 'p99'],
		...Object.entries(kinds).map(([name, kind]) => [
			...[name, String(kind.objects), String(kind.calls), `${(100 * kind.busiest).toFixed(1)} %`],
			...[kind.waitP50.toFixed(2), kind.waitP99.toFixed(2)],
		]),
	]),
);
const wakes = estimateWakes({ schedules: read('schedules'), shards: world.shards, wakeMs: read('wake') });
console.log(
	`\n${wakes.count} schedules of one minute: the last wakes ${(wakes.lastMs / 1_000).toFixed(1)} s after its time`,
);
