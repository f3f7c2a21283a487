import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { countBytes } from '../../src/core/ground/bytes.ts';
import { toMessageText } from '../../src/core/ground/errors.ts';
import { maxValueBytes } from '../../src/core/skill/kv/layout.ts';
import type { SkillProblem } from '../../src/core/skill/kv/plan.ts';
import { type PreparedSkill, prepareSkill } from '../../src/core/skill/kv/prepare.ts';
import { validateMarkdown } from '../../src/core/skill/markdown.ts';

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

/**
 * Prepares the skills of some folders. `problems` say why a folder is not published: of two skills with one name the
 * second is a problem. `warnings` are about skills that are published all the same.
 */
export function readSkills(folders: readonly SkillFolder[]) {
	const skills = new Map<string, PreparedSkill & { readonly path: string }>();
	const problems: SkillProblem[] = [];
	const warnings: SkillProblem[] = [];
	for (const folder of folders) {
		const result = prepareFolder(folder);
		if (Array.isArray(result)) problems.push(...result);
		else {
			const first = skills.get(folder.name);
			if (first === undefined) {
				skills.set(folder.name, { ...result.skill, path: folder.path });
				warnings.push(...result.warnings);
			} else problems.push(toProblem(folder, `name "${folder.name}" is the name of ${first.path} already`));
		}
	}
	return { skills: [...skills.values()], problems, warnings };
}

function prepareFolder(
	folder: SkillFolder,
): { readonly skill: PreparedSkill; readonly warnings: readonly SkillProblem[] } | SkillProblem[] {
	const {
		name,
		files: { 'SKILL.md': text, ...files },
	} = folder;
	if (text === undefined) return [toProblem(folder, 'is missing: a folder of skills/ holds one skill')];
	const violations = validateMarkdown(text, { directory: name });
	const found = violations.map(({ message, line }) => toProblem(folder, message, line));
	if (violations.some(({ severity }) => severity === 'error')) return found;
	try {
		const prepared = prepareSkill(name, text, { files });
		const bytes = countBytes(prepared.body);
		if (bytes > maxValueBytes) {
			const message = `and the files beside it have ${bytes} bytes: an entry of KV holds ${maxValueBytes}`;
			return [toProblem(folder, message)];
		}
		return { skill: prepared, warnings: found };
	} catch (error) {
		return [toProblem(folder, toMessageText(error))];
	}
}

function toProblem({ name, path }: SkillFolder, message: string, line?: number): SkillProblem {
	return { skill: name, file: `${path}/SKILL.md`, message, line };
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
		return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
	} catch {
		return undefined;
	}
}
