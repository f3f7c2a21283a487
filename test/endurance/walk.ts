import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import type { Figures } from './stage.ts';

const root = resolve(import.meta.dirname, '../..');

/**
 * Runs the test of a random walk with variables that make it long, in workerd because the walk needs the objects. Returns
 * the figures that the test prints after a word.
 */
export async function runWalk(
	file: string,
	word: string,
	variables: Readonly<Record<string, string>>,
): Promise<Figures> {
	const vitest = join(root, 'node_modules/vitest/vitest.mjs');
	const child = spawn(process.execPath, [vitest, 'run', '--project', 'workerd-long', file], {
		cwd: root,
		env: { ...process.env, NO_COLOR: '1', ...variables },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let said = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text: string) => {
			said += text;
		});
	const [code] = await once(child, 'close');
	const figures = new RegExp(`^${word} (\\{.*\\})$`, 'm').exec(said)?.[1];
	if (code !== 0 || figures === undefined) {
		// Warnings of the Worker contain errors, too, but not at the start of a line.
		const at = Math.max(0, said.search(/^Error: /m));
		throw new Error(said.slice(at, at + 20_000));
	}
	return JSON.parse(figures);
}
