/** `npm run bench`: measures what Runlet costs. Each part runs in its own process, so that none warms up the next. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isAsked } from './usage.ts';

const usage = `npm run bench: measures, in some minutes
  what a delta costs on its way to a reader, beside a loop by hand
  what it costs on its way from a provider's bytes, through the SDK and the adapter
  what 10,000 skills cost a turn and a search, in workerd
  --help              this text`;

if (isAsked('npm run bench', usage)) {
	for (const part of ['bench-loop.ts', 'bench-providers.ts', 'bench-skills.ts']) {
		const { status } = spawnSync(process.execPath, [join(import.meta.dirname, part)], { stdio: 'inherit' });
		process.exitCode = status ?? 1;
		if (status !== 0) break;
	}
}
