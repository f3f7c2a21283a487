/**
 * Builds `src/page` into `build/page`, which `wrangler.toml` serves. The modules become one script, and the styles one
 * sheet. Beside them lie the API as a document and as a page (`src/cloudflare/openapi`), and the code of the shell
 * (`src/cloudflare/agent/shell-isolate.ts`), which the Worker reads when it needs it.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildSync } from 'esbuild';
import { createDocument } from '../src/cloudflare/openapi/document.ts';
import { renderPage } from '../src/cloudflare/openapi/page.ts';
import { buildSdks } from './pack/sdks.ts';
import { root } from './root.ts';
import { isAsked } from './usage.ts';
import { writeChanged } from './write-changed.ts';

const usage = `npm run build:page: makes the page and the API's documents in build/page, and the SDKs in build/sdk
  --help              this text`;

const source = join(root, 'src/page');

/** The licences of what the page's script has from others. */
const notice = `// marked and lowlight, under the MIT License; highlight.js, under the BSD 3-Clause License:
// https://www.npmjs.com/package/marked, https://www.npmjs.com/package/lowlight, https://www.npmjs.com/package/highlight.js`;

/** Builds the page into a folder. Throws if its modules have an error; the other files are built all the same. */
export function buildPage(target = join(root, 'build/page')): void {
	const write = (name: string, content: Uint8Array | string) => writeChanged(join(target, name), Buffer.from(content));
	mkdirSync(target, { recursive: true });
	const files = readdirSync(source).filter((name) => /^(?!style\.css$).*\.(?:html|css)$|^_headers$/.test(name));
	for (const name of files) write(name, readFileSync(join(source, name)));
	const built = buildSync({
		entryPoints: [join(source, 'app.ts'), join(source, 'docs/docs.ts'), join(source, 'style.css')],
		absWorkingDir: root,
		bundle: true,
		minify: true,
		format: 'esm',
		target: 'es2022',
		charset: 'utf8',
		legalComments: 'none',
		banner: { js: notice },
		outdir: target,
		write: false,
		logLevel: 'silent',
	});
	for (const { path, contents } of built.outputFiles) write(basename(path), contents);
	write('shell.js', buildShell());
	const document = createDocument();
	write('openapi.json', JSON.stringify(document));
	write('docs.html', renderPage(document));
	const made = ['app.js', 'docs.js', 'style.css', 'shell.js', 'openapi.json', 'docs.html', ...files];
	for (const name of readdirSync(target))
		if (!made.includes(name) && !name.endsWith('.new')) rmSync(join(target, name));
}

/** Builds the Worker in which a shell runs. It is short, because the Worker keeps it in memory. */
function buildShell(): Uint8Array {
	const { outputFiles } = buildSync({
		entryPoints: [join(root, 'src/cloudflare/agent/shell-isolate.ts')],
		absWorkingDir: root,
		bundle: true,
		minify: true,
		format: 'esm',
		target: 'es2022',
		platform: 'browser',
		external: ['cloudflare:*', 'node:*'],
		legalComments: 'none',
		write: false,
		logLevel: 'silent',
	});
	const [{ contents } = { contents: new Uint8Array() }] = outputFiles;
	const notice = '// just-bash, under the Apache License 2.0: https://www.npmjs.com/package/just-bash\n';
	return Buffer.concat([Buffer.from(notice), contents]);
}

if (process.argv[1] === import.meta.filename && isAsked('npm run build:page', usage)) {
	buildPage();
	await buildSdks();
}
