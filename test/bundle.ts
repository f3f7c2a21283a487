/** Bundles the Worker into one file and runs it in Miniflare. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildSdks } from '../scripts/pack/sdks.ts';
import { buildPage } from '../scripts/page.ts';
import { root } from '../scripts/root.ts';
import { findWrangler, loadWrangler, quietEnv } from '../src/command/wrangler.ts';

const bundles = new Map<string, Promise<string>>();

/**
 * Bundles the Worker of `entry` as `worker.js` and returns its folder. Runs once per process, which removes the folder
 * at its end.
 */
function bundleWorker(entry: string): Promise<string> {
	const known = bundles.get(entry);
	if (known !== undefined) return known;
	const bundle = writeBundle(entry);
	bundles.set(entry, bundle);
	return bundle;
}

async function writeBundle(entry: string): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-bundle-'));
	process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
	// Wrangler needs the folder of the page, and the SDKs.
	buildPage();
	await buildSdks();
	const args = ['--no-warnings', findWrangler(), 'deploy', entry, '--dry-run', '--outdir', folder];
	const child = spawn(process.execPath, args, { cwd: root, env: quietEnv, stdio: ['ignore', 'ignore', 'pipe'] });
	const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')]);
	if (status !== 0) throw new Error(`the Worker could not be bundled:\n${stderr}`);
	return folder;
}

/** The bindings of `wrangler.toml` without the page. All data is stored in `folder`. */
export async function readWorkerOptions(entry: string, folder: string, port = 0) {
	const modulesRoot = await bundleWorker(entry);
	// Its code takes most of a second to load.
	const { unstable_getMiniflareWorkerOptions } = await loadWrangler();
	const { compatibilityDate, compatibilityFlags, durableObjects, kvNamespaces, r2Buckets } =
		unstable_getMiniflareWorkerOptions(join(root, 'wrangler.toml')).workerOptions;
	return {
		// Listed by name, so that optional imports (a validator that is not installed) are not searched.
		modules: [{ type: 'ESModule' as const, path: join(modulesRoot, 'worker.js') }],
		modulesRoot,
		compatibilityDate,
		compatibilityFlags,
		durableObjects,
		kvNamespaces,
		r2Buckets,
		defaultPersistRoot: join(folder, 'state'),
		durableObjectsPersist: join(folder, 'objects'),
		kvPersist: join(folder, 'kv'),
		r2Persist: join(folder, 'r2'),
		host: '127.0.0.1',
		port,
		// Tests send many requests from one address.
		ratelimits: { RATE_LIMITER: { namespace_id: '8787', simple: { limit: 1_000_000, period: 10 as const } } },
		cf: false,
	};
}
