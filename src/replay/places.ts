import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The most files that are searched. */
const mostFiles = 2_000;

const skipped = /^(?:node_modules|dist|build|coverage|\..*)$/;

/** Finds, for each name, the first line of the folder's sources that defines it: `name: 'refund'` or `function refund`. */
export function findNames(names: readonly string[], folder = process.cwd()): readonly string[] {
	const files = listSources(folder).map((file) => ({ file, lines: readFileSync(file, 'utf8').split('\n') }));
	return names.flatMap((name) => {
		const escaped = name.replace(/[^\w]/g, '\\$&');
		const defines = new RegExp(`\\bname:\\s*['"\`]${escaped}['"\`]|\\bfunction\\s+${escaped}\\b`);
		for (const { file, lines } of files) {
			const at = lines.findIndex((line) => defines.test(line));
			if (at !== -1) return [`${relative(folder, file)}:${at + 1} (${name})`];
		}
		return [];
	});
}

function listSources(folder: string): readonly string[] {
	const found: string[] = [];
	const open = [folder];
	for (let next = open.shift(); next !== undefined && found.length < mostFiles; next = open.shift()) {
		for (const entry of readdirSync(next, { withFileTypes: true })) {
			if (skipped.test(entry.name)) continue;
			const path = join(next, entry.name);
			if (entry.isDirectory()) open.push(path);
			else if (/\.[cm]?[jt]sx?$/.test(entry.name) && !/\.(?:test|spec|d)\./.test(entry.name)) found.push(path);
		}
	}
	return found;
}
