import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPage } from '../scripts/page.ts';
import { bundleWorker } from './bundle-worker.ts';
import { pack } from './pack.ts';
import { addressVariable } from './shared.ts';

/** Makes the package or the bundle of a path. */
function make(path: string, folder: string): Promise<object> {
	const { pathname, searchParams } = new URL(path, 'http://share');
	if (pathname === '/package') return pack(folder);
	if (pathname === '/worker') return bundleWorker(searchParams.get('entry') ?? '', folder);
	throw new Error(`nobody shares ${path}`);
}

/**
 * Makes packages and bundles for several test files once, at the first request (`test/shared.ts`). All test projects share
 * one server.
 */
export default async function setup() {
	if (process.env[addressVariable] !== undefined) return;
	// Each start of a server needs the page, also in a copy of the project.
	buildPage();
	const folder = await mkdtemp(join(tmpdir(), 'runlet-shared-'));
	const made = new Map<string, Promise<object>>();
	const makeOnce = (path: string): Promise<object> => {
		const known = made.get(path) ?? mkdtemp(join(folder, 'made-')).then((own) => make(path, own));
		made.set(path, known);
		return known;
	};
	const server = createServer(async ({ url = '' }, response) => {
		const [status, answer] = await makeOnce(url).then(
			(done) => [200, JSON.stringify(done)] as const,
			(error) => [500, String(error)] as const,
		);
		response.writeHead(status).end(answer);
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('who shares has no port');
	process.env[addressVariable] = `http://127.0.0.1:${address.port}`;
	return async () => {
		delete process.env[addressVariable];
		server.close();
		server.closeAllConnections();
		await Promise.allSettled(made.values());
		await rm(folder, { recursive: true, force: true });
	};
}
