import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const folder = join(import.meta.dirname, '../../fixtures/skills-corpus');

/** A real SKILL.md: its path in `test/fixtures/skills-corpus`, the name of its folder, and its text. */
export interface CorpusFile {
	readonly path: string;
	readonly directory: string;
	readonly text: string;
}

/** The 268 real skills of `test/fixtures/skills-corpus`. */
export const corpus: readonly CorpusFile[] = readFileSync(join(folder, 'INDEX.tsv'), 'utf8')
	.trim()
	.split('\n')
	.slice(1)
	.map((row) => {
		const [path = ''] = row.split('\t');
		return { path, directory: basename(dirname(path)), text: readFileSync(join(folder, path), 'utf8') };
	});
