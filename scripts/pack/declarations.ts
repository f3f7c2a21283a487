/** Checks the modules and declarations of the package, and finishes the declarations. */

import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

/** The specifiers after `from`, and those in `import('…')`. */
const specifier = /(\bfrom\s*|\bimport\()(["'])([^"']+)\2/g;

/**
 * Lets declarations name each other as JavaScript, as compilers of all versions expect. Removes the declarations
 * that no part of the package leads to. Returns a line for each mistake: the name of a package that a user may
 * not have.
 */
export function finishDeclarations(
	dist: string,
	{ entries, allowed }: { readonly entries: readonly string[]; readonly allowed: readonly string[] },
): readonly string[] {
	const problems: string[] = [];
	const reached = new Set(entries);
	for (const file of reached) {
		const text = readFileSync(file, 'utf8');
		writeFileSync(
			file,
			text.replace(specifier, (_, before: string, quote: string, name: string) => {
				const isOwn = name.startsWith('.');
				if (isOwn) reached.add(join(dirname(file), name.replace(/\.[jt]s$/, '.d.ts')));
				else if (!allowed.some((one) => name === one || name.startsWith(`${one}/`)))
					problems.push(`${file}: names ${name}, which a user of the package may not have`);
				return `${before}${quote}${isOwn ? name.replace(/\.ts$/, '.js') : name}${quote}`;
			}),
		);
	}
	for (const file of globSync('**/*.d.ts', { cwd: dist })) if (!reached.has(join(dist, file))) rmSync(join(dist, file));
	return problems;
}

/**
 * Follows the imports of the built modules from the entries of the package. Returns a line for each mistake: an
 * import of another package that a user may not have.
 */
export async function findStrangeImports(
	dist: string,
	{ entries, allowed }: { readonly entries: readonly string[]; readonly allowed: readonly string[] },
): Promise<readonly string[]> {
	const { metafile } = await build({
		entryPoints: [...entries],
		outdir: dist,
		bundle: true,
		format: 'esm',
		packages: 'external',
		write: false,
		metafile: true,
		logLevel: 'error',
	});
	const known = [...allowed, 'node', 'cloudflare'];
	return Object.entries(metafile.inputs).flatMap(([file, { imports }]) =>
		imports
			.filter(({ path, external }) => external && !known.some((name) => new RegExp(`^${name}($|[/:])`).test(path)))
			.map(({ path }) => `${relative(dist, file)}: imports ${path}, which a user of the package may not have`),
	);
}
