import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { listSources } from '../../scripts/source-names.ts';
import { version } from '../../src/cloudflare/wire/version.ts';

const root = resolve(import.meta.dirname, '../..');
const manifest = v.parse(
	v.object({
		version: v.string(),
		scripts: v.record(v.string(), v.string()),
		dependencies: v.record(v.string(), v.string()),
		devDependencies: v.record(v.string(), v.string()),
		exports: v.record(v.string(), v.union([v.string(), v.object({ types: v.string(), default: v.string() })])),
	}),
	read(join(root, 'package.json')),
);

function read(file: string): unknown {
	return JSON.parse(readFileSync(file, 'utf8'));
}

test('each entry of the package has the same name in the sources, and is built from them', () => {
	const parts = Object.entries(manifest.exports).filter(([, to]) => typeof to !== 'string');
	const sources = [...listSources()].map(([name, path]) => {
		const built = relative(join(root, 'src'), path).replace(/\.ts$/, '');
		const part = name === 'runlet' ? '.' : name.replace('runlet', '.');
		return [part, { types: `./dist/${built}.d.ts`, default: `./dist/${built}.js` }];
	});
	expect(Object.fromEntries(parts)).toEqual(Object.fromEntries(sources));
});

test('the package is built before it is packed', () => {
	expect(manifest.scripts).toMatchObject({ prepack: 'npm run build', build: 'node scripts/build.ts' });
});

test('each install script of a package is allowed or denied, here and in a new project', () => {
	const allowed = v.object({ allowScripts: v.record(v.string(), v.boolean()) });
	const locked = v.object({
		packages: v.record(v.string(), v.object({ hasInstallScript: v.optional(v.boolean(), false) })),
	});
	const { packages } = v.parse(locked, read(join(root, 'package-lock.json')));
	const names = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
		// The install script of an optional package for another platform never runs.
		hasInstallScript && !path.endsWith('/fsevents') ? [path.slice(path.lastIndexOf('node_modules/') + 13)] : [],
	);
	const { allowScripts } = v.parse(allowed, read(join(root, 'package.json')));
	expect(Object.keys(allowScripts).sort()).toEqual([...new Set(names)].sort());
	expect(v.parse(allowed, read(join(root, 'packages/create-runlet/template/package.json'))).allowScripts).toEqual(
		Object.fromEntries(Object.entries(allowScripts).filter(([, isAllowed]) => isAllowed)),
	);
});

test('a new project has this version of the package, and the tested versions of other packages', () => {
	const made = v.object({ version: v.string() });
	const dependencies = v.record(v.string(), v.string());
	const template = v.object({ dependencies, devDependencies: dependencies });
	const folder = join(root, 'packages/create-runlet');
	expect(v.parse(made, read(join(folder, 'package.json'))).version).toBe(manifest.version);
	const { dependencies: used, devDependencies } = v.parse(template, read(join(folder, 'template/package.json')));
	const { runlet, ...others } = used;
	expect(runlet).toBe(manifest.version);
	expect({ ...manifest.dependencies, ...manifest.devDependencies }).toMatchObject({ ...others, ...devDependencies });
});

test('the Worker reports the version of the package', () => {
	expect(version).toBe(manifest.version);
});

test('the docs name the tested version of Wrangler', () => {
	const docs = readFileSync(join(root, 'docs/own-worker.md'), 'utf8');
	expect(docs).toContain(`wrangler@${manifest.devDependencies.wrangler}`);
});
