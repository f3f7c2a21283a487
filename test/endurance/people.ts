import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createSeed } from './random.ts';
import type { Figures, Options } from './stage.ts';

const root = resolve(import.meta.dirname, '../..');
const file = 'test/cloudflare/session/people-walk.worker.test.ts';

/**
 * A random walk over two owners with three users each, in all roles and by every way in: nobody reads, says, decides or
 * pays anything of another person. It is the test of that name, with more steps: its walker needs the objects in workerd.
 */
export async function people({ count = 20_000, seed = createSeed() }: Options): Promise<Figures> {
	const vitest = join(root, 'node_modules/vitest/vitest.mjs');
	const child = spawn(process.execPath, [vitest, 'run', '--project', 'workerd', file], {
		cwd: root,
		env: { ...process.env, NO_COLOR: '1', VITE_WALK_STEPS: String(count), VITE_WALK_SEED: String(seed) },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let said = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text: string) => {
			said += text;
		});
	const [code] = await once(child, 'close');
	const figures = /^WALK (\{.*\})$/m.exec(said)?.[1];
	if (code !== 0 || figures === undefined) {
		const why = said.slice(Math.max(0, said.indexOf('Error: '))).slice(0, 20_000);
		throw new Error(`${why} (seed ${seed})`);
	}
	return JSON.parse(figures);
}
