import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { listSources } from '../../scripts/source-names.ts';
import { version } from '../../src/cloudflare/version.ts';

const root = resolve(import.meta.dirname, '../..');
const manifest = v.parse(
	v.object({
		version: v.string(),
		exports: v.record(v.string(), v.union([v.string(), v.object({ types: v.string(), default: v.string() })])),
	}),
	JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')),
);

test('each part of the package has the same name in the sources, and is built from there', () => {
	const parts = Object.entries(manifest.exports).filter(([, to]) => typeof to !== 'string');
	const sources = [...listSources()].map(([name, path]) => {
		const built = relative(join(root, 'src'), path).replace(/\.ts$/, '');
		const part = name === 'runlet' ? '.' : name.replace('runlet', '.');
		return [part, { types: `./dist/${built}.d.ts`, default: `./dist/${built}.js` }];
	});
	expect(Object.fromEntries(parts)).toEqual(Object.fromEntries(sources));
});

test('the Worker says the version of the package', () => {
	expect(version).toBe(manifest.version);
});
