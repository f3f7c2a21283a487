import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import * as v from 'valibot';
import { root } from '../root.ts';

/**
 * The modules of `dist` that hold a copy of other packages, so that nobody has to install these packages. The
 * SDKs of Anthropic and OpenAI take 62 MB. The SDKs of MCP and their dependencies take 26 MB. highlight.js takes 9 MB.
 * eventsource-parser and htmlparser2 ask for a newer Node than Runlet asks for.
 */
const copies = [
	['client/highlight'],
	['core/providers/adapter/anthropic-sdk'],
	['core/providers/adapter/event-parser'],
	['core/providers/adapter/openai-sdk'],
	['core/toolboxes/web/libraries'],
	// Code that both modules need, such as Zod, is in files beside the first module.
	['core/mcp/sdk', 'cloudflare/mcp/serve/sdk'],
] as const;

/** Modules that are replaced in the copies, as in wrangler.toml. */
const replaced = {
	'@modelcontextprotocol/client/_shims': 'core/mcp/sdk-shims',
	'@modelcontextprotocol/server/_shims': 'core/mcp/sdk-shims',
};

/**
 * Leaves out the parts of the SDKs that the options of the adapters turn off: a class for each route of OpenAI's
 * API, because an adapter names its routes itself; streams, pages and uploads, because an adapter reads answers
 * itself; logins without a key; and traces. Anthropic's routes have no query. Only references in markdown, which a
 * page has none of, need the names of characters in HTML.
 */
const unused = [
	/\/openai\/(resources\/(?!.*index\.mjs)|auth\/|core\/(streaming|pagination)|internal\/(uploads|to-file|auth\/x509-workload))/,
	/\/@anthropic-ai\/sdk\/(core\/(streaming|pagination)|internal\/(to-file|utils\/query)|(lib\/)?internal\/tracing|lib\/credentials\/credential-chain)/,
	/\/@opentelemetry\//,
	/\/micromark-util-decode-string\//,
];

/** Replaces unused modules by functions that return nothing. */
const withoutUnused: Plugin = {
	name: 'without-unused',
	setup: ({ onLoad }) =>
		onLoad(
			{ filter: /[\\/](openai|@anthropic-ai|@opentelemetry|micromark-util-decode-string)[\\/]/ },
			async ({ path }) => {
				if (!unused.some((pattern) => pattern.test(path.replaceAll('\\', '/')))) return undefined;
				const names = (await listExports(path)).filter((name) => name !== 'default');
				return { contents: names.map((name) => `export function ${name}() {}`).join('\n') };
			},
		),
};

async function listExports(path: string): Promise<readonly string[]> {
	const { metafile } = await build({
		entryPoints: [path],
		outdir: 'none',
		format: 'esm',
		metafile: true,
		write: false,
	});
	return Object.values(metafile.outputs).flatMap(({ exports }) => exports);
}

/** Bundles as Wrangler does: without code that needs Node. */
export const copyOptions = {
	bundle: true,
	format: 'esm',
	platform: 'browser',
	conditions: ['workerd', 'worker'],
	target: 'es2022',
	charset: 'utf8',
	plugins: [withoutUnused],
} as const satisfies BuildOptions;

/** Writes the copies into a built `dist`, and the licences of the packages in the copies. */
export async function writeCopies(dist: string, external: readonly string[]): Promise<void> {
	const inputs = await Promise.all(copies.map((names) => writeGroup(names, dist, external)));
	const paths = inputs.flat().map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
	// The price list is also made from a package (scripts/prices.ts).
	paths.push(join(root, 'node_modules/@pydantic/genai-prices'));
	const packages = [...new Set(paths.filter((path) => path !== undefined))].sort();
	writeFileSync(join(dist, 'LICENSES.txt'), packages.map(describeLicense).join(`\n${'-'.repeat(80)}\n\n`));
}

/** Writes copies that share their common code. Returns the files that are in them. */
async function writeGroup(
	names: readonly string[],
	dist: string,
	external: readonly string[],
): Promise<readonly string[]> {
	const { metafile } = await build({
		entryPoints: names.map((name) => join(dist, `${name}.js`)),
		outdir: dist,
		outbase: dist,
		allowOverwrite: true,
		...copyOptions,
		splitting: names.length > 1,
		chunkNames: `${names[0]}-[hash]`,
		metafile: true,
		logLevel: 'warning',
		// Only unused parts of MCP's client load jose.
		external: [...external.flatMap((name) => [name, `${name}/*`]), 'jose'],
		alias: Object.fromEntries(Object.entries(replaced).map(([name, path]) => [name, join(root, 'src', `${path}.ts`)])),
	});
	return Object.keys(metafile.inputs);
}

const manifest = v.object({ name: v.string(), version: v.string(), license: v.string() });

/** Returns the licence of a package: its text, or its name and the page of the package. */
function describeLicense(folder: string): string {
	const { name, version, license } = v.parse(manifest, JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
	const [file] = globSync('LICEN[CS]E*', { cwd: folder });
	const text =
		file === undefined ? `https://www.npmjs.com/package/${name}\n` : readFileSync(join(folder, file), 'utf8');
	return `${name} ${version} (${license})\n\n${text}`;
}
