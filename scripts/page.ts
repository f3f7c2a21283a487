/**
 * Builds `src/page` into `build/page`, which `wrangler.toml` serves. The modules become one script, and the styles one
 * sheet; what colours code is loaded later. The element `<runlet-chat>` is a script of its own, with its styles. Beside
 * them lie the API as a document and as a page (`src/cloudflare/openapi`), and the code of the shell
 * (`src/cloudflare/agent/shell-isolate.ts`), which the Worker reads when it needs it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildOptions, buildSync } from 'esbuild';
import { createDocument } from '../src/cloudflare/openapi/document.ts';
import { renderPage } from '../src/cloudflare/openapi/page.ts';
import { brandCss, brandHtml, readBrand } from '../src/command/page/brand.ts';
import { type Made, makeOnce, writeChanged } from './make-once.ts';
import { countSteps } from './pack/count-steps.ts';
import { root } from './root.ts';
import { isAsked } from './usage.ts';

const usage = `npm run build:page: makes the page and the API's documents in build/page
  --help              this text`;

const source = join(root, 'src/page');

/** The licences of the packages in the page's script. */
const notice = `// marked, lowlight and temml, under the MIT License; highlight.js, under the BSD 3-Clause License; lucide, under the ISC License:
// https://www.npmjs.com/package/marked, https://www.npmjs.com/package/lowlight, https://www.npmjs.com/package/temml,
// https://www.npmjs.com/package/highlight.js, https://www.npmjs.com/package/lucide`;

/** How scripts and styles are bundled. */
const small = {
	bundle: true,
	minify: true,
	format: 'esm',
	target: 'es2022',
	legalComments: 'none',
	outdir: root,
} as const;

const pageScripts: BuildOptions = { ...small, charset: 'utf8', banner: { js: notice } };

/** Files of their own, which the other scripts load when they need them: what colours code, and what draws formulas. */
const later = ['markdown/highlight.ts', 'markdown/mathml.ts'];
const withoutLater: BuildOptions = { ...pageScripts, external: later.map((name) => `*/${basename(name)}`) };

const at = (...names: readonly string[]) => names.map((name) => join(source, name));

const bundles: readonly BuildOptions[] = [
	{ ...withoutLater, entryPoints: at('app.ts', 'docs/docs.ts', 'style.css') },
	...later.map((name) => ({ ...pageScripts, entryPoints: at(name) })),
	// It blocks the first paint, which a module cannot.
	{ ...small, format: 'iife', entryPoints: at('theme.ts') },
];

const embedStyles: BuildOptions = { ...small, entryPoints: at('embed/embed.css'), charset: 'utf8' };

/** The element, with its styles. */
const embed = (styles: string): BuildOptions => ({
	...withoutLater,
	entryPoints: at('embed/embed.ts'),
	define: { EMBED_STYLES: JSON.stringify(fitStyles(styles)) },
});

/**
 * Makes the styles depend on the size of the element, not of the window, and on its own size of letters, not on that of the
 * page around it.
 */
function fitStyles(styles: string): string {
	return styles
		.replace(
			/@media ?(\(width ?[<>]=? ?)([\d.]+)rem\)/g,
			(_, query, size) => `@container ${query}${Number(size) * 16}px)`,
		)
		.replace(/(?<![\w-])(-?[\d.]+)rem\b/g, 'calc($1*var(--rem))');
}

/** The programs of the shell. Their package for globs takes unbounded time, so another package replaces it. */
const programs: BuildOptions = {
	...small,
	minify: false,
	entryPoints: ['just-bash/browser'],
	platform: 'browser',
	external: ['node:*'],
	alias: { minimatch: join(root, 'scripts/pack/minimatch.ts') },
};

/** The same programs, with a count of their steps. */
const countedPrograms = 'build/just-bash.js';

/** The Worker in which a shell runs. It is short, because the Worker keeps it in memory. */
const shell: BuildOptions = {
	...small,
	entryPoints: { shell: join(root, 'src/cloudflare/agent/shell-isolate.ts') },
	platform: 'browser',
	external: ['cloudflare:*', 'node:*'],
	banner: { js: '// just-bash, under the Apache License 2.0: https://www.npmjs.com/package/just-bash' },
};

/** The modules that make the documents. Bundling them only finds their sources. */
const documents: BuildOptions = {
	entryPoints: [join(root, 'src/cloudflare/openapi/document.ts'), join(root, 'src/cloudflare/openapi/page.ts')],
	bundle: true,
	packages: 'external',
	outdir: root,
};

/** Other files that the documents depend on. */
const makers = ['scripts/page.ts', 'scripts/pack/count-steps.ts', 'package.json', 'package-lock.json', 'tsconfig.json'];

/** Builds the page into a folder. Throws if its modules have an error; the other files are built all the same. */
export function buildPage(target = join(root, 'build/page')): void {
	const write = (name: string, content: Uint8Array | string) => writeChanged(join(target, name), Buffer.from(content));
	mkdirSync(target, { recursive: true });
	const files = readdirSync(source).filter((name) => /^(?!style\.css$).*\.(?:html|css)$|^_headers$/.test(name));
	for (const name of files) write(name, addBrand(name, readFileSync(join(source, name), 'utf8')));
	const texts = makeOnce(join(root, 'build/page.json'), make);
	for (const [name, text] of Object.entries(texts)) write(name, text);
	const made = [...Object.keys(texts), ...files];
	for (const name of readdirSync(target))
		if (!made.includes(name) && !name.endsWith('.new')) rmSync(join(target, name));
}

const brandFile = join(root, 'brand.json');

/** Puts the name, the logo and the colours of `brand.json` into the page, if there is this file. */
function addBrand(name: string, text: string): string {
	if (!existsSync(brandFile)) return text;
	if (name === 'index.html') return brandHtml(text, readBrand(brandFile));
	return name === 'theme.css' ? brandCss(text, readBrand(brandFile)) : text;
}

function make(): Made {
	const build = (options: BuildOptions) =>
		buildSync({ ...options, absWorkingDir: root, metafile: true, write: false, logLevel: 'silent' });
	const counted = build(programs);
	mkdirSync(join(root, 'build'), { recursive: true });
	writeFileSync(
		join(root, countedPrograms),
		countSteps(counted.outputFiles?.[0]?.text ?? '', join(root, 'src/cloudflare/agent/shell-steps.ts')),
	);
	const styles = build(embedStyles);
	const element = embed(styles.outputFiles?.[0]?.text ?? '');
	const built = [...bundles, element, { ...shell, alias: { 'just-bash/browser': join(root, countedPrograms) } }].map(
		build,
	);
	const inputs = [...built, styles, counted, build(documents)].flatMap(({ metafile }) =>
		Object.keys(metafile?.inputs ?? {}),
	);
	const scripts = built.flatMap(({ outputFiles = [] }) =>
		outputFiles.map(({ path, text }) => [basename(path), text.replace(/"\.\/(highlight|mathml)\.ts"/g, '"./$1.js"')]),
	);
	const document = createDocument();
	const texts = { 'openapi.json': JSON.stringify(document), 'docs.html': renderPage(document) };
	return {
		texts: { ...Object.fromEntries(scripts), ...texts },
		sources: [...new Set([...makers, ...inputs])].filter((path) => path !== countedPrograms).sort(),
	};
}

if (process.argv[1] === import.meta.filename && isAsked('npm run build:page', usage)) buildPage();
