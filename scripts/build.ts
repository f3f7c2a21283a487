/**
 * `npm run build`: builds the library into `dist/` (ESM and declarations), and checks that every export of package.json
 * loads.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as v from 'valibot';
import { toMessageText } from '../src/core/ground/errors.ts';
import { isAsked } from './options.ts';
import { root } from './wrangler.ts';

const usage = `npm run build: makes the library in dist/ (ESM and declarations), and loads every export of package.json
  --help              this text`;

const target = v.object({ types: v.string(), default: v.string() });
const manifest = v.object({ exports: v.record(v.string(), v.union([v.string(), target])) });

if (isAsked('npm run build', usage)) await build();

async function build(): Promise<void> {
	rmSync(join(root, 'dist'), { recursive: true, force: true });
	const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
	// The library comes last, as it is without the types of any platform.
	const statuses = ['tsconfig.worker.json', 'tsconfig.build.json'].map(
		(config) => spawnSync(process.execPath, [tsc, '-p', config], { cwd: root, stdio: 'inherit' }).status,
	);
	const failures = statuses.every((status) => status === 0) ? await checkExports() : ['tsc found errors'];
	for (const failure of failures) console.error(`build: ${failure}`);
	// Nobody must pack an incomplete dist/ by accident.
	if (failures.length > 0) rmSync(join(root, 'dist'), { recursive: true, force: true });
	process.exitCode = failures.length > 0 ? 1 : 0;
}

async function checkExports(): Promise<string[]> {
	// Node has nothing of Cloudflare.
	const platform = 'data:text/javascript,export class DurableObject {}';
	registerHooks({
		resolve: (name, context, next) => next(name === 'cloudflare:workers' ? platform : name, context),
	});
	const { exports } = v.parse(manifest, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
	const failures = Object.entries(exports).map(async ([name, paths]) => {
		if (typeof paths === 'string') return existsSync(join(root, paths)) ? [] : [`${name}: ${paths} is missing`];
		if (!existsSync(join(root, paths.types))) return [`${name}: ${paths.types} is missing`];
		try {
			await import(pathToFileURL(join(root, paths.default)).href);
			return [];
		} catch (error) {
			return [`${name}: ${paths.default} cannot be imported: ${toMessageText(error)}`];
		}
	});
	return (await Promise.all(failures)).flat();
}
