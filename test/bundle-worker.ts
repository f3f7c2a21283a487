import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as v from 'valibot';
import { buildPage } from '../scripts/page.ts';
import { root } from '../scripts/root.ts';
import { loadWrangler, quietEnv, toShortCommand } from '../src/command/wrangler.ts';

/** A bundled Worker: the folder with its `worker.js`, and the options that `wrangler.toml` gives Miniflare. */
export type Bundle = v.InferOutput<typeof bundle>;
export const bundle = v.object({
	modulesRoot: v.string(),
	compatibilityDate: v.optional(v.string()),
	compatibilityFlags: v.array(v.string()),
	durableObjects: v.record(v.string(), v.object({ className: v.string(), useSQLite: v.boolean() })),
	kvNamespaces: v.record(v.string(), v.object({ id: v.string() })),
	r2Buckets: v.record(v.string(), v.object({ id: v.string() })),
	assets: v.object({ directory: v.string(), routerConfig: v.looseObject({}), assetConfig: v.looseObject({}) }),
});

/** Bundles the Worker of `entry` into a folder, as Wrangler deploys it. */
export async function bundleWorker(entry: string, modulesRoot: string): Promise<Bundle> {
	// Wrangler needs the folder of the page.
	buildPage();
	const args = toShortCommand(['deploy', entry, '--dry-run', '--minify', '--outdir', modulesRoot]);
	const child = spawn(process.execPath, args, { cwd: root, env: quietEnv, stdio: ['ignore', 'ignore', 'pipe'] });
	const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')]);
	if (status !== 0) throw new Error(`the Worker could not be bundled:\n${stderr}`);
	// A dynamic import, because Wrangler takes most of a second to load.
	const { unstable_getMiniflareWorkerOptions } = await loadWrangler();
	const { workerOptions } = unstable_getMiniflareWorkerOptions(join(root, 'wrangler.toml'));
	return v.parse(bundle, { ...workerOptions, modulesRoot });
}
