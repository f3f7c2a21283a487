import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { countBytes } from '../../core/ground/bytes.ts';
import { toMessageText } from '../../core/ground/errors.ts';
import { maxValueBytes } from '../../core/skill/kv/layout.ts';
import type { SkillProblem } from '../../core/skill/kv/plan.ts';
import { type PreparedSkill, prepareSkill } from '../../core/skill/kv/prepare.ts';
import { validateMarkdown } from '../../core/skill/markdown.ts';

/** A skill's folder: its name, its path, and its text files by their path in the folder (`references/api.md`). */
export interface SkillFolder {
	readonly name: string;
	/** The path below the folder of all skills, with `/`. */
	readonly path: string;
	readonly files: Readonly<Record<string, string>>;
}

/**
 * Reads every folder with a SKILL.md, at any depth, with its text files. The result is sorted by path. A top folder
 * without a SKILL.md below it is included without files. Hidden files and folders, links and files that are not UTF-8
 * text are left out.
 */
export async function readSkillFolders(directory: string): Promise<SkillFolder[]> {
	const paths: string[] = [];
	for (const name of await foldersIn(directory)) {
		const found = await skillFolders(join(directory, name));
		if (found.length > 0) paths.push(...found);
		else if (!isHidden(name)) paths.push(join(directory, name));
	}
	const folders: SkillFolder[] = [];
	// In sequence: thousands of parallel reads run out of file handles.
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
 * Prepares the skills of the folders. `problems` say why a folder is not published, such as a name that another skill
 * has. `warnings` are about skills that are published all the same.
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

/**
 * Finds the folder itself, or the skill folders below it. A skill's folder holds no other skill. A hidden folder is no
 * skill itself.
 */
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
