import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/** The paths of README and of the pages of `docs/`. */
export const pages: readonly string[] = ['README.md', ...globSync('docs/*.md', { cwd: root }).sort()];

export interface Block {
	readonly page: string;
	/** The line number of the block's first line of code in the page, counted from 1. */
	readonly line: number;
	readonly language: string;
	readonly code: string;
}

function readPage(page: string): string {
	return readFileSync(join(root, page), 'utf8');
}

/** Lists the code blocks of a page in order. */
export function listBlocks(page: string): readonly Block[] {
	const text = readPage(page);
	return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ index, 1: language = '', 2: code = '' }) => ({
		page,
		line: text.slice(0, index).split('\n').length + 1,
		language,
		code,
	}));
}

/** Finds the only block of a page that starts with `beginning`. */
export function findBlock(page: string, beginning: string): string {
	const [found, ...others] = listBlocks(page).filter(({ code }) => code.startsWith(beginning));
	if (found === undefined || others.length > 0) throw new Error(`${page}: expected one block that begins ${beginning}`);
	return found.code;
}

/**
 * Returns the path of a block's file in a project: the path in its first line, such as `// src/agents/host.ts`, or a path
 * made from the page and the line.
 */
export function toFile({ page, line, language, code }: Block): string {
	const own = `pages/${basename(page, '.md').toLowerCase()}-${line}.${language}`;
	return /^\/\/ (src\/[\w/-]+\.ts)$/m.exec(code.split('\n')[0] ?? '')?.[1] ?? own;
}
