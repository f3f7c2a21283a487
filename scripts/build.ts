/**
 * `npm run build`: builds the package into `dist/` (ESM, declarations and the page), and checks that every export of
 * package.json loads.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as v from 'valibot';
import { toMessageText } from '../src/core/base/errors.ts';
import { writeCopies } from './pack/copies.ts';
import { findStrangeImports, finishDeclarations } from './pack/declarations.ts';
import { buildPage } from './page.ts';
import { root } from './root.ts';
import { isAsked } from './usage.ts';

const usage = `npm run build: makes the package in dist/ (ESM, declarations, the page), and loads every export of package.json
  --no-check          the types are not checked; npm run check does
  --help              this text`;

const dist = join(root, 'dist');
const target = v.object({ types: v.string(), default: v.string() });
const manifest = v.object({
	bin: v.record(v.string(), v.string()),
	exports: v.record(v.string(), v.union([v.string(), target])),
	dependencies: v.record(v.string(), v.string()),
	peerDependencies: v.record(v.string(), v.string()),
});

if (isAsked('npm run build', usage, ['no-check'])) await build();

async function build(): Promise<void> {
	rmSync(dist, { recursive: true, force: true });
	const failures = await buildAll().catch((error: unknown) => [toMessageText(error)]);
	for (const failure of failures) console.error(`build: ${failure}`);
	// Nobody must pack an incomplete dist/ by accident.
	if (failures.length > 0) rmSync(dist, { recursive: true, force: true });
	process.exitCode = failures.length > 0 ? 1 : 0;
}

/** Builds the whole package. Returns its mistakes. */
async function buildAll(): Promise<readonly string[]> {
	return compile() ? finish() : ['tsc found errors'];
}

/** Compiles the sources. The library comes last, because it must not have the types of any platform. */
function compile(): boolean {
	const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
	const options = ['--singleThreaded', ...(process.argv.includes('--no-check') ? ['--noCheck'] : [])];
	const run = (config: string) =>
		spawnSync(process.execPath, [tsc, '-p', config, ...options], { cwd: root, stdio: 'inherit' }).status === 0;
	return ['tsconfig.command.json', 'tsconfig.worker.json', 'tsconfig.build.json'].every(run);
}

async function finish(): Promise<readonly string[]> {
	const { bin, exports, dependencies, peerDependencies } = v.parse(
		manifest,
		JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
	);
	const packages = Object.keys(dependencies);
	await writeCopies(dist, packages);
	buildPage(join(dist, 'page'));
	const parts = Object.values(exports).filter((paths) => typeof paths !== 'string');
	const allowed = [...packages, ...Object.keys(peerDependencies), 'runlet'];
	const declared = finishDeclarations(dist, {
		entries: parts.map(({ types }) => join(root, types)),
		allowed: [...allowed, 'cloudflare:workers'],
	});
	const imported = await findStrangeImports(dist, {
		entries: [...Object.values(bin), ...parts.map((paths) => paths.default)].map((path) => join(root, path)),
		allowed,
	});
	return [...declared, ...imported, ...(await checkExports(exports))];
}

async function checkExports(exports: v.InferOutput<typeof manifest>['exports']): Promise<string[]> {
	// Node cannot load Cloudflare's modules.
	const platform = 'data:text/javascript,export class DurableObject {}';
	registerHooks({
		resolve: (name, context, next) => next(name === 'cloudflare:workers' ? platform : name, context),
	});
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
