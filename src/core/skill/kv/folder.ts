import { countBytes } from '../../ground/bytes.ts';
import { toMessageText } from '../../ground/errors.ts';
import { validateMarkdown } from '../markdown.ts';
import { maxValueBytes } from './layout.ts';
import type { SkillProblem } from './plan.ts';
import { type PreparedSkill, prepareSkill } from './prepare.ts';

/** A skill's folder: its name, its path, and its text files by their path in the folder (`references/api.md`). */
export interface SkillFolder {
	readonly name: string;
	/** The path below the folder of all skills, with `/`. */
	readonly path: string;
	readonly files: Readonly<Record<string, string>>;
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
