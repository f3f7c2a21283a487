/** Where the parts of the package (`runlet`, `runlet/cloudflare`, …) are in the sources, by `paths` of tsconfig.json. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as v from 'valibot';

const root = resolve(import.meta.dirname, '..');
const config = v.object({ compilerOptions: v.object({ paths: v.record(v.string(), v.tuple([v.string()])) }) });

/** Returns the path of each part by its name. */
export function listSources(): ReadonlyMap<string, string> {
	const { compilerOptions } = v.parse(config, JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')));
	return new Map(Object.entries(compilerOptions.paths).map(([name, [path]]) => [name, join(root, path)]));
}
