import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as v from 'valibot';

const root = resolve(import.meta.dirname, '..');
const packedSchema = v.tuple([v.object({ filename: v.string(), files: v.array(v.object({ path: v.string() })) })]);

/** What the package is made from. */
const sources = [
	...['src', 'scripts', 'docs', 'package.json', 'package-lock.json'],
	...['README.md', 'LICENSE', 'CHANGELOG.md', 'llms.txt'],
	...['tsconfig.json', 'tsconfig.build.json', 'tsconfig.command.json', 'tsconfig.worker.json'],
];

/**
 * Packs the package into a folder, as `npm pack` does. It is built in a copy of the sources, so that tests can pack at the
 * same time. Returns the name of the file, and the paths in it.
 */
export function packRunlet(folder: string): { readonly file: string; readonly paths: readonly string[] } {
	const copy = mkdtempSync(join(tmpdir(), 'runlet-pack-'));
	try {
		for (const name of sources) cpSync(join(root, name), join(copy, name), { recursive: true });
		symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
		const args = ['pack', '--json', '--pack-destination', folder];
		const output = execFileSync('npm', args, { cwd: copy, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
		const [{ filename, files }] = v.parse(packedSchema, JSON.parse(output));
		return { file: join(folder, filename), paths: files.map(({ path }) => path) };
	} finally {
		rmSync(copy, { recursive: true, force: true });
	}
}
