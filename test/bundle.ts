/** Runs Workers, bundled into one file, in Miniflare. */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { type Bundle, bundle, bundleWorker } from './bundle-worker.ts';
import { findShared } from './shared.ts';

const bundles = new Map<string, Promise<Bundle>>();

/** Finds the bundle of the Worker of `entry`. It is made once for all test files, or else once in this process. */
function findBundle(entry: string): Promise<Bundle> {
	const known = bundles.get(entry);
	if (known !== undefined) return known;
	const found = findShared(`/worker?entry=${entry}`).then((shared) =>
		shared === undefined ? bundleForThisProcess(entry) : v.parse(bundle, shared),
	);
	bundles.set(entry, found);
	return found;
}

/** Its folder is removed when the process ends. */
async function bundleForThisProcess(entry: string): Promise<Bundle> {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-bundle-'));
	process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
	return bundleWorker(entry, folder);
}

/** The bindings of `wrangler.toml` without the page. All data is stored in `folder`. */
export async function readWorkerOptions(entry: string, folder: string, port = 0) {
	const found = await findBundle(entry);
	return {
		...found,
		// Listed by name, so that optional imports (a validator that is not installed) are not searched.
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
