import { RunletError, type Skill, skill } from '../../core/index.ts';
import { readSkills as prepareSkills } from '../../core/skill/kv/publish.ts';

/**
 * Reads the skills of a folder, such as `skills`, as they would be published. Needs Node. If a skill cannot be
 * published, throws `invalid_skill` with all problems.
 */
export async function readSkills(folder: string): Promise<readonly Skill[]> {
	const { readSkillFolders } = await import('./folder.ts');
	const folders = await readSkillFolders(folder);
	const { problems } = await prepareSkills(folders);
	if (problems.length > 0) {
		const lines = problems.map(({ skill: name, file, message }) => `${name}/${file}: ${message}`);
		throw new RunletError('invalid_skill', lines.join('\n'));
	}
	return folders.map(({ name, files: { 'SKILL.md': text = '', ...files } }) => ({
		...skill.fromMarkdown(text, { directory: name }),
		files,
	}));
}
