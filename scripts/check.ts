/** `npm run check`: runs all checks that only read the sources, and prints their results in a fixed order. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { root } from './root.ts';
import { isAsked } from './usage.ts';

const usage = `npm run check: format, lint, one-way imports, current prices, what nobody uses, and types; changes nothing (npm run fix does)
  --help              this text`;

/** One thread does half of the work: several threads would each check the same types. */
const tsc = ['typescript/bin/tsc', '--singleThreaded'] as const;
const checks: readonly (readonly [string, ...string[]])[] = [
	['@biomejs/biome/bin/biome', 'check', '.'],
	['../scripts/layers.ts'],
	['../scripts/prices.ts', '--check'],
	['knip/bin/knip.js', '--no-progress'],
	[...tsc],
	[...tsc, '-p', 'scripts'],
	[...tsc, '-p', 'examples/shop'],
	[...tsc, '-p', 'examples/shop/src/pages'],
	[...tsc, '-p', 'tsconfig.command.json', '--noEmit'],
	[...tsc, '-p', 'tsconfig.build.json', '--noEmit'],
	[...tsc, '-p', 'tsconfig.worker.json', '--noEmit'],
];

/** Runs a check, and returns whether it passed and its output. */
async function run([tool, ...args]: readonly [string, ...string[]]) {
	const child = spawn(process.execPath, [join(root, 'node_modules', tool), ...args], {
		cwd: root,
		env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let said = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text: string) => {
			said += text;
		});
	const [code] = await once(child, 'close');
	return { passed: code === 0, said };
}

/** Runs all checks, as many at a time as there are processors. */
async function checkAll(): Promise<void> {
	const waiting = checks.map((check) => ({ check, result: Promise.withResolvers<Awaited<ReturnType<typeof run>>>() }));
	const results = waiting.map(({ result }) => result.promise);
	const work = async (): Promise<void> => {
		for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
			next.result.resolve(await run(next.check));
	};
	for (let worker = 0; worker < availableParallelism(); worker++) void work();
	for (const result of results) {
		const { passed, said } = await result;
		process.stdout.write(said);
		if (!passed) process.exitCode = 1;
	}
}

if (isAsked('npm run check', usage)) await checkAll();
