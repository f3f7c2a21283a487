import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

/** Bundles the Worker of an entry into one module that Node can load. */
async function bundle(entry: string, file: string): Promise<void> {
	await build({
		stdin: { contents: entry, loader: 'ts', resolveDir: root },
		bundle: true,
		minify: true,
		format: 'esm',
		platform: 'browser',
		conditions: ['workerd', 'worker'],
		target: 'es2024',
		external: ['node:*'],
		outfile: file,
		logLevel: 'error',
		plugins: [
			{
				name: 'platform',
				setup(given) {
					given.onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: 'platform' }));
					given.onLoad({ filter: /.*/, namespace: 'platform' }, () => ({ contents: 'export class DurableObject {}' }));
				},
			},
		],
	});
}

/** Loads a module, and returns the messages of the errors that it creates. */
function listErrors(file: string): unknown {
	const script = `
		const made = [];
		for (const name of ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'DOMException'])
			globalThis[name] = new Proxy(globalThis[name], {
				construct: (target, given, own) => {
					made.push(name + ': ' + given[0]);
					return Reflect.construct(target, given, own);
				},
			});
		await import(${JSON.stringify(pathToFileURL(file).href)});
		console.log(JSON.stringify(made));`;
	const args = ['--no-warnings', '--input-type=module', '--eval', script];
	return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

function useFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), 'runlet-start-'));
	onTestFinished(() => rmSync(folder, { recursive: true }));
	return folder;
}

// For each error V8 finds the place of every function on the stack. For the module's own code it has to parse
// the whole module again, which takes a quarter of a cold start.
test('the Worker creates no Error object while its modules load', async () => {
	const file = join(useFolder(), 'worker.mjs');
	await bundle("export { default } from './src/worker.ts';", file);
	expect(listErrors(file)).toEqual([]);
});
