import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import * as v from 'valibot';
import { root } from '../root.ts';

/**
 * The modules of `dist` that hold a copy of other packages, so that nobody has to install those: the SDKs of Anthropic
 * and OpenAI take 62 MB, of which two files are used; hono-openapi brings libraries that nothing here calls;
 * eventsource-parser and htmlparser2 ask for a newer Node than Runlet.
 */
const copies = [
	'core/providers/adapter/anthropic-sdk',
	'core/providers/adapter/event-parser',
	'core/providers/adapter/openai-sdk',
	'core/toolboxes/web/libraries',
	'cloudflare/routes/openapi/hono-openapi',
] as const;

/** What hono-openapi loads for the schemas of other libraries is left out, as in wrangler.toml. */
const noVendors = join(root, 'src/cloudflare/routes/openapi/no-vendors.ts');
const vendors = ['@standard-community/standard-json', '@standard-community/standard-openapi'];

/** Writes the copies into a built `dist`, and the licences of what is in them. */
export async function writeCopies(dist: string, external: readonly string[]): Promise<void> {
	const { metafile } = await build({
		entryPoints: copies.map((name) => join(dist, `${name}.js`)),
		outdir: dist,
		outbase: dist,
		allowOverwrite: true,
		bundle: true,
		format: 'esm',
		// As Wrangler takes them: what needs Node is left out.
		platform: 'browser',
		conditions: ['workerd', 'worker'],
		target: 'es2022',
		charset: 'utf8',
		metafile: true,
		logLevel: 'warning',
		external: external.flatMap((name) => [name, `${name}/*`]),
		alias: Object.fromEntries(vendors.map((name) => [name, noVendors])),
	});
	const paths = Object.keys(metafile.inputs).map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
	const packages = [...new Set(paths.filter((path) => path !== undefined))].sort();
	writeFileSync(join(dist, 'LICENSES.txt'), packages.map(describeLicense).join(`\n${'-'.repeat(80)}\n\n`));
}

const manifest = v.object({ name: v.string(), version: v.string(), license: v.string() });

/** Returns the licence of a package: its text, or if there is no file its name and where the package comes from. */
function describeLicense(folder: string): string {
	const { name, version, license } = v.parse(manifest, JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
	const [file] = globSync('LICEN[CS]E*', { cwd: folder });
	const text =
		file === undefined ? `https://www.npmjs.com/package/${name}\n` : readFileSync(join(folder, file), 'utf8');
	return `${name} ${version} (${license})\n\n${text}`;
}
