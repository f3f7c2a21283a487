import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { parse } from 'smol-toml';
import * as v from 'valibot';
import { wrangler } from '../../src/command/wrangler.ts';
import { copyOptions } from '../pack/copies.ts';
import { root } from '../root.ts';

/** The part of the repository's configuration that counts for every Worker. */
const configSchema = v.object({
	compatibility_date: v.string(),
	compatibility_flags: v.optional(v.array(v.string()), []),
	alias: v.optional(v.record(v.string(), v.string()), {}),
	keep_names: v.optional(v.boolean(), true),
});

/** A Worker as Wrangler deploys it. */
export interface Bundle {
	/** The file of the main module. */
	readonly main: string;
	/** The code of all modules, packed as Cloudflare counts it, in kilobytes. */
	readonly gzipKb: number;
	readonly date: string;
	readonly flags: readonly string[];
}

/** Bundles the Worker of an entry in `scripts/bench/workers` or `src`, under the repository's own configuration. */
export async function bundleWorker(entry: string, folder: string): Promise<Bundle> {
	const { compatibility_date: date, compatibility_flags: flags, alias, keep_names } = await readConfig();
	const out = join(folder, 'out');
	const config = join(folder, 'wrangler.json');
	// The SDKs in their bundled form, as in the package.
	const anthropic = join(folder, 'anthropic-sdk.js');
	const openai = join(folder, 'openai-sdk.js');
	await build({
		...copyOptions,
		entryPoints: ['anthropic-sdk', 'openai-sdk'].map((name) => join(root, `src/core/providers/adapter/${name}.ts`)),
		outdir: folder,
	});
	const copies = {
		'@anthropic-ai/sdk/client': anthropic,
		'@anthropic-ai/sdk/lib/transform-json-schema': anthropic,
		'openai/client': openai,
	};
	const paths = Object.entries({ ...alias, ...copies }).map(([name, path]) => [
		name,
		path.startsWith('.') ? join(root, path) : path,
	]);
	await mkdir(folder, { recursive: true });
	await writeFile(
		config,
		JSON.stringify({
			name: 'bench',
			main: join(root, entry),
			compatibility_date: date,
			compatibility_flags: flags,
			alias: Object.fromEntries(paths),
			keep_names,
		}),
	);
	await wrangler(['deploy', '--minify', '--dry-run', '--outdir', out, '--config', config]);
	const files = (await readdir(out)).filter((name) => name.endsWith('.js'));
	const codes = await Promise.all(files.map((name) => readFile(join(out, name))));
	const gzipKb = codes.reduce((sum, code) => sum + gzipSync(code).length, 0) / 1_000;
	return {
		main: join(out, files.find((name) => entry.endsWith(name.replace(/js$/, 'ts'))) ?? ''),
		gzipKb,
		date,
		flags,
	};
}

async function readConfig(): Promise<v.InferOutput<typeof configSchema>> {
	return v.parse(configSchema, parse(await readFile(join(root, 'wrangler.toml'), 'utf8')));
}
