import { toMessageText } from '../src/core/errors.ts';
import { validateMarkdown } from '../src/core/skill/markdown.ts';
import type { SkillProblem } from '../src/core/skill/plan.ts';
import { countBytes, maxValueBytes, type ToPublish, toPublish } from '../src/core/skill/publish.ts';
import type { SkillFolder } from './skills-read.ts';

/**
 * What is published of some folders, and why the others are not. Of two skills with one name the second is a problem.
 * `warnings` are of skills that are published all the same.
 */
export function readSkills(folders: readonly SkillFolder[]) {
	const skills = new Map<string, ToPublish & { readonly path: string }>();
	const problems: SkillProblem[] = [];
	const warnings: SkillProblem[] = [];
	for (const folder of folders) {
		const result = toSkill(folder);
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

function toSkill(
	folder: SkillFolder,
): { readonly skill: ToPublish; readonly warnings: readonly SkillProblem[] } | SkillProblem[] {
	const {
		name,
		files: { 'SKILL.md': text, ...files },
	} = folder;
	if (text === undefined) return [toProblem(folder, 'is missing: a folder of skills/ holds one skill')];
	const violations = validateMarkdown(text, { directory: name });
	const found = violations.map(({ message, line }) => toProblem(folder, message, line));
	if (violations.some(({ severity }) => severity === 'error')) return found;
	try {
		const published = toPublish(name, text, { files });
		const bytes = countBytes(published.body);
		if (bytes > maxValueBytes) {
			const message = `and the files beside it have ${bytes} bytes: an entry of KV holds ${maxValueBytes}`;
			return [toProblem(folder, message)];
		}
		return { skill: published, warnings: found };
	} catch (error) {
		return [toProblem(folder, toMessageText(error))];
	}
}

function toProblem({ name, path }: SkillFolder, message: string, line?: number): SkillProblem {
	return { skill: name, file: `${path}/SKILL.md`, message, line };
}
