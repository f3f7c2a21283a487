import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import * as v from 'valibot';
import { root } from '../root.ts';
import { writeChanged } from '../write-changed.ts';

/**
 * What of the SDKs no provider here asks for, two thirds of their code: the routes of their APIs (an adapter names its
 * own), streams (it reads them itself), pages of lists, logins other than by a key, and traces. An option asks for each,
 * and no option here does.
 */
const unused = [
	/\/openai\/resources\/.*(?<!\/index)\.mjs$/,
	/\/openai\/(core\/(pagination|streaming)|auth\/workload-identity-auth)\.mjs$/,
	/\/openai\/internal\/auth\/x509-workload-identity-auth\.mjs$/,
	/\/@anthropic-ai\/sdk\/(core\/(pagination|streaming)|internal\/tracing|lib\/internal\/tracing)\.mjs$/,
	/\/@anthropic-ai\/sdk\/lib\/credentials\/(credential-chain|token-cache)\.mjs$/,
	/\/@opentelemetry\/api\//,
];

/** What is used of the SDKs: a client each, which becomes a file in `build/sdk`. wrangler.toml names them. */
export const sdks = {
	openai: { module: 'openai/client', client: 'OpenAI' },
	anthropic: { module: '@anthropic-ai/sdk/client', client: 'BaseAnthropic' },
} as const;

/**
 * Writes the SDKs without what is unused, for the Worker of this repository and for tests: they run what is shipped. What
 * was written from the same versions by the same rules stays, because every start asks for it.
 */
export async function buildSdks(folder = join(root, 'build/sdk')): Promise<void> {
	mkdirSync(folder, { recursive: true });
	const rules = createHash('sha256')
		.update(readFileSync(import.meta.filename))
		.digest('hex')
		.slice(0, 16);
	const builds = Object.entries(sdks).map(async ([name, { module, client }]) => {
		const file = join(folder, `${name}.js`);
		const mark = `// ${module} ${readVersion(module)}, rules ${rules}\n`;
		if (existsSync(file) && readFileSync(file, 'utf8').startsWith(mark)) return;
		const { outputFiles } = await build({
			stdin: { contents: `export { ${client} } from '${module}';`, resolveDir: root },
			...copyOptions,
			write: false,
			logLevel: 'warning',
		});
		for (const { text } of outputFiles) writeChanged(file, Buffer.from(mark + text));
	});
	await Promise.all(builds);
}

const manifest = v.object({ version: v.string() });

/** Returns the version of the package that a module is in. */
function readVersion(module: string): string {
	const file = join(root, 'node_modules', dirname(module), 'package.json');
	return v.parse(manifest, JSON.parse(readFileSync(file, 'utf8'))).version;
}

/** Leaves out of a bundle what is unused of the SDKs. In its place stand functions that return nothing. */
const withoutUnused: Plugin = {
	name: 'without-unused',
	setup(bundle) {
		// OpenAI's package does not say that its modules do nothing when they are loaded.
		bundle.onResolve({ filter: /^\./ }, ({ path, importer }) =>
			/\/node_modules\/openai\//.test(toSlashes(importer))
				? { path: join(dirname(importer), path), sideEffects: false }
				: undefined,
		);
		bundle.onLoad({ filter: /[\\/]node_modules[\\/](openai|@anthropic-ai|@opentelemetry)[\\/]/ }, async ({ path }) => {
			if (!unused.some((pattern) => pattern.test(toSlashes(path)))) return undefined;
			return { contents: (await listExports(path)).map(toEmpty).join('\n') };
		});
	},
};

/** As Wrangler takes a package: what needs Node is left out. */
export const copyOptions = {
	bundle: true,
	format: 'esm',
	platform: 'browser',
	conditions: ['workerd', 'worker'],
	target: 'es2022',
	charset: 'utf8',
	plugins: [withoutUnused],
} as const satisfies BuildOptions;

function toSlashes(path: string): string {
	return path.replaceAll('\\', '/');
}

/** A function may be a class too. */
function toEmpty(name: string): string {
	return `export ${name === 'default' ? 'default ' : ''}function ${name === 'default' ? '' : name}() {}`;
}

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
