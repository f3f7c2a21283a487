import { resolve } from 'node:path';
import { build } from 'esbuild';
import type { JSHandle, Page } from 'playwright-core';

const bundles = new Map<string, Promise<string>>();

/** Loads a module of `src/page` without the rest of the page. Each module is bundled once. */
export async function loadModule<M>(page: Page, name: string): Promise<JSHandle<M>> {
	const bundled = bundles.get(name) ?? bundle(name);
	bundles.set(name, bundled);
	return page.evaluateHandle<M>(`(() => { ${await bundled} return loaded; })()`);
}

async function bundle(name: string): Promise<string> {
	const { outputFiles } = await build({
		entryPoints: [resolve(import.meta.dirname, `../../src/page/${name}.ts`)],
		bundle: true,
		format: 'iife',
		globalName: 'loaded',
		target: 'es2022',
		write: false,
	});
	return outputFiles[0]?.text ?? '';
}
