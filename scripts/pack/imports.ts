import { relative } from 'node:path';
import { build } from 'esbuild';

/**
 * Follows the built modules from where the package begins. Returns what is wrong, one line each: an import of another
 * package that a user may not have.
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
