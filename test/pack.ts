import { execFile } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { root } from '../scripts/root.ts';
import { findShared } from './shared.ts';

const packedSchema = v.tuple([v.object({ filename: v.string(), files: v.array(v.object({ path: v.string() })) })]);

/** The packed package: its file, and the paths in it. */
export type Packed = v.InferOutput<typeof packed>;
const packed = v.object({ file: v.string(), paths: v.array(v.string()) });

/** The files that the package is built from. */
const sources = [
	...['src', 'scripts', 'docs', 'package.json', 'package-lock.json'],
	...['README.md', 'LICENSE', 'CHANGELOG.md', 'llms.txt'],
	...['tsconfig.json', 'tsconfig.build.json', 'tsconfig.command.json', 'tsconfig.worker.json'],
];

/** Packs the package into a folder, as `npm pack` does in a fresh clone. Does not check types, because `npm run check` does. */
export async function pack(folder: string): Promise<Packed> {
	const copy = await copySources(folder);
	await run(process.execPath, ['scripts/build.ts', '--no-check'], { cwd: copy });
	const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
	const { stdout } = await run('npm', args, { cwd: copy });
	const [{ filename, files }] = v.parse(packedSchema, JSON.parse(stdout));
	return { file: join(folder, filename), paths: files.map(({ path }) => path) };
}

const run = promisify(execFile);

/** Copies the sources of the package to a folder, like a fresh clone after `npm ci`: without any build output. */
export async function copySources(folder: string): Promise<string> {
	const copy = join(folder, 'sources');
	for (const name of sources) await cp(join(root, name), join(copy, name), { recursive: true });
	await symlink(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
	return copy;
}

/** Finds the packed package. All test files share it. */
export async function findPacked(): Promise<Packed> {
	return v.parse(packed, await findShared('/package'));
}
