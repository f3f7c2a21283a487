/** Runs Workers, bundled into one file, in Miniflare. */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Miniflare } from 'miniflare';
import * as v from 'valibot';
import { type Bundle, bundle, bundleWorker } from './bundle-worker.ts';
import { claimPort } from './port.ts';
import { findShared } from './shared.ts';

const bundles = new Map<string, Promise<Bundle>>();

/** Finds the bundle of the Worker of `entry`. All test files share it, unless this process makes its own. */
function findBundle(entry: string): Promise<Bundle> {
	const known = bundles.get(entry);
	if (known !== undefined) return known;
	const found = findShared(`/worker?entry=${entry}`).then((shared) =>
		shared === undefined ? bundleForThisProcess(entry) : v.parse(bundle, shared),
	);
	bundles.set(entry, found);
	return found;
}

/** Bundles a Worker into a folder that is removed when the process ends. */
async function bundleForThisProcess(entry: string): Promise<Bundle> {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-bundle-'));
	process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
	return bundleWorker(entry, folder);
}

/** The bindings of `wrangler.toml` without the page. All data is stored in `folder`. */
export async function readWorkerOptions(entry: string, folder: string, port = 0) {
	const { assets: _, ...found } = await findBundle(entry);
	return {
		...found,
		// Lists the module by name. Otherwise Miniflare would look for an optional import that is not installed.
		modules: [{ type: 'ESModule' as const, path: join(found.modulesRoot, 'worker.js') }],
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

/**
 * Serves `src/worker.ts` and its page as deployed, with these variables. A start costs a tenth of a start by
 * `startRunlet`. Only tests of `npm start` need `startRunlet`.
 */
export async function startWorker(variables: Readonly<Record<string, string>>) {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-worker-'));
	const port = await claimPort();
	const { assets } = await findBundle('src/worker.ts');
	const options = { ...(await readWorkerOptions('src/worker.ts', folder, port)), assets, bindings: { ...variables } };
	let miniflare = new Miniflare(options);
	await miniflare.ready;
	return {
		url: `http://127.0.0.1:${port}`,
		/** Restarts the Worker with its stored data. */
		restart: async (): Promise<void> => {
			await miniflare.dispose();
			miniflare = new Miniflare(options);
			await miniflare.ready;
		},
		close: async (): Promise<void> => {
			await miniflare.dispose();
			await rm(folder, { recursive: true, force: true });
		},
	};
}
