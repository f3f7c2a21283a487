import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import * as v from 'valibot';
import type { TestProject } from 'vitest/node';

const root = resolve(import.meta.dirname, '..');
const packedSchema = v.tuple([v.object({ filename: v.string(), files: v.array(v.object({ path: v.string() })) })]);

/** The packed package: its file, and the paths in it. */
export interface Packed {
	readonly file: string;
	readonly paths: readonly string[];
}

/** What the package is made from. */
const sources = [
	...['src', 'scripts', 'docs', 'package.json', 'package-lock.json'],
	...['README.md', 'LICENSE', 'CHANGELOG.md', 'llms.txt'],
	...['tsconfig.json', 'tsconfig.build.json', 'tsconfig.command.json', 'tsconfig.worker.json'],
];

/** Packs the package into a folder, as `npm pack` does. It is built in a copy of the sources. */
async function pack(folder: string): Promise<Packed> {
	const copy = join(folder, 'sources');
	for (const name of sources) await cp(join(root, name), join(copy, name), { recursive: true });
	await symlink(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
	const args = ['pack', '--json', '--pack-destination', folder];
	const { stdout } = await promisify(execFile)('npm', args, { cwd: copy });
	const [{ filename, files }] = v.parse(packedSchema, JSON.parse(stdout));
	return { file: join(folder, filename), paths: files.map(({ path }) => path) };
}

/** Packs the package once for all test files, when the first of them asks for it (`test/packed.ts`). */
export default async function setup(project: TestProject) {
	let folder: string | undefined;
	let packed: Promise<Packed> | undefined;
	const packOnce = async (): Promise<Packed> => {
		folder = await mkdtemp(join(tmpdir(), 'runlet-pack-'));
		return pack(folder);
	};
	const server = createServer(async (_, response) => {
		packed ??= packOnce();
		const [status, answer] = await packed.then(
			(done) => [200, JSON.stringify(done)] as const,
			(error) => [500, String(error)] as const,
		);
		response.writeHead(status).end(answer);
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('who packs has no port');
	project.provide('packing', `http://127.0.0.1:${address.port}`);
	return async () => {
		server.close();
		server.closeAllConnections();
		await packed?.catch(() => {});
		if (folder !== undefined) await rm(folder, { recursive: true, force: true });
	};
}

declare module 'vitest' {
	interface ProvidedContext {
		readonly packing: string;
	}
}
