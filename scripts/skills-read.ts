import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';

/** A skill's folder: its name, where it is, and its text files by their path in it (`references/api.md`). */
export interface SkillFolder {
	readonly name: string;
	/** Below the folder of all skills, with `/`. */
	readonly path: string;
	readonly files: Readonly<Record<string, string>>;
}

/**
 * Every folder that holds a SKILL.md, at whatever depth, with its text files, by path. A folder at the top that leads to
 * none is given without files. Hidden files, folders that are hidden themselves, links and files that are not UTF-8 text
 * are left out.
 */
export async function readSkillFolders(directory: string): Promise<SkillFolder[]> {
	const paths: string[] = [];
	for (const name of await foldersIn(directory)) {
		const found = await skillFolders(join(directory, name));
		if (found.length > 0) paths.push(...found);
		else if (!isHidden(name)) paths.push(join(directory, name));
	}
	const folders: SkillFolder[] = [];
	// One after the other: thousands at once run out of file handles.
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

/** The folder itself, or those below it. What is in a skill's folder is the skill's; a hidden folder may only lead to some. */
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
		const text = item.isFile() ? toText(await readFile(path)) : undefined;
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

function toText(bytes: Uint8Array): string | undefined {
	if (bytes.includes(0)) return undefined;
	try {
		return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	} catch {
		return undefined;
	}
}
