/** `runlet page`: makes the page with a name, a logo and colours (docs/own-worker.md, "Your name, logo and colours"). */

import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { brandCss, brandHtml, readBrand } from './page/brand.ts';
import { root, toCommand } from './project.ts';

export const usage = `${toCommand('page', '[OPTIONS]')}: makes the page with your name, logo and colours.
  --brand FILE        what it is called and how it looks (brand.json)
  --out DIR           where it goes (public)
  --help              this text`;

export async function run(args: readonly string[]): Promise<number> {
	assertNotTakenByNpm(['brand', 'out']);
	const { values } = parseOptions(toCommand('page', '--help'), {
		args: [...args],
		options: {
			brand: { type: 'string', default: join(root, 'brand.json') },
			out: { type: 'string', default: join(root, 'public') },
			help: { type: 'boolean', short: 'h' },
		},
	});
	if (values.help) {
		console.log(usage);
		return 0;
	}
	const brand = readBrand(resolve(values.brand));
	const out = resolve(values.out);
	cpSync(findPage(), out, { recursive: true });
	change(join(out, 'index.html'), (html) => brandHtml(html, brand));
	change(join(out, 'theme.css'), (css) => brandCss(css, brand));
	console.log(`The page is in ${out}.`);
	return 0;
}

/** Finds the built page: in the package, beside this program, and in the sources, in `build/page`. */
function findPage(): string {
	const folders = ['../page', '../../build/page'].map((path) => join(import.meta.dirname, path));
	const found = folders.find((folder) => existsSync(join(folder, 'app.js')));
	if (found !== undefined) return found;
	throw new UsageError('The page is not built yet: npm run build:page');
}

function change(file: string, edit: (text: string) => string): void {
	writeFileSync(file, edit(readFileSync(file, 'utf8')));
}
