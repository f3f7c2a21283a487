/** `npm run check`: runs all checks that only read the sources. Stops at the first failure. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './root.ts';
import { isAsked } from './usage.ts';

const usage = `npm run check: format, lint, one-way imports, what nobody uses, and types; changes nothing (npm run fix does)
  --help              this text`;

const biome = ['@biomejs/biome/bin/biome', 'check', '.'];
const house = '../scripts/house.ts';
const tsc = 'typescript/bin/tsc';

if (isAsked('npm run check', usage)) {
	for (const [tool = '', ...args] of [
		biome,
		[house],
		['knip/bin/knip.js', '--no-progress'],
		[tsc],
		[tsc, '-p', 'scripts'],
		[tsc, '-p', 'tsconfig.command.json', '--noEmit'],
		[tsc, '-p', 'tsconfig.build.json', '--noEmit'],
		[tsc, '-p', 'tsconfig.worker.json', '--noEmit'],
	]) {
		const command = [join(root, 'node_modules', tool), ...args];
		const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' });
		process.exitCode = status ?? 1;
		if (status !== 0) break;
	}
}
