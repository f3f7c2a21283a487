import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { toFileText } from '../../core/base/bytes.ts';
import type { SkillFolder } from '../../core/skill/kv/publish.ts';

/**
 * Reads every folder with a SKILL.md, at any depth, with its text files. The result is sorted by path. A top folder
 * that has no SKILL.md at any depth is included without files. Hidden files and folders, links and files that are not
 * UTF-8 text are left out.
 */
export async function readSkillFolders(directory: string): Promise<SkillFolder[]> {
	const paths: string[] = [];
	for (const name of await foldersIn(directory)) {
		const found = await skillFolders(join(directory, name));
		if (found.length > 0) paths.push(...found);
		else if (!isHidden(name)) paths.push(join(directory, name));
	}
	const folders: SkillFolder[] = [];
	// Reads in sequence, because thousands of parallel reads would need too many file handles.
	for (const path of paths) {
		const files = Object.fromEntries(await readTexts(path));
		folders.push({
			name: basename(path),
			path: toPath(directory, path),
			files: Object.hasOwn(files, 'SKILL.md') ? files : {},
		});
	}
	return folders.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Lists the folder itself if it has a SKILL.md, else the skill folders below it. Leaves out hidden skill folders. */
async function skillFolders(folder: string): Promise<string[]> {
	const items = await readdir(folder, { withFileTypes: true });
	if (items.some((item) => item.name === 'SKILL.md' && item.isFile()))
		return isHidden(basename(folder)) ? [] : [folder];
	const found: string[] = [];
	for (const name of await foldersIn(folder)) found.push(...(await skillFolders(join(folder, name))));
	return found;
}

async function foldersIn(folder: string): Promise<string[]> {
	return (await readdir(folder, { withFileTypes: true }))
		.filter((item) => item.isDirectory() && item.name !== 'node_modules' && item.name !== '.git')
		.map(({ name }) => name);
}

async function readTexts(folder: string, below = folder): Promise<[path: string, text: string][]> {
	const texts: [string, string][] = [];
	for (const item of await readdir(below, { withFileTypes: true })) {
		if (isHidden(item.name) || item.name === 'node_modules') continue;
		const path = join(below, item.name);
		if (item.isDirectory()) texts.push(...(await readTexts(folder, path)));
		const text = item.isFile() ? toFileText(await readFile(path)) : undefined;
		if (text !== undefined) texts.push([toPath(folder, path), text]);
	}
	return texts;
}

function isHidden(name: string): boolean {
	return name.startsWith('.');
}

function toPath(from: string, to: string): string {
	return relative(from, to).replaceAll(sep, '/');
}
