import type { Skill } from './skill.ts';

/** One skill in the listing that a model scans. */
export interface SkillListing {
	readonly name: string;
	readonly description: string;
	readonly when: readonly string[];
}

/** `{ name, description, when }` of each skill (document 001, `list-skills-of`). */
export function listSkillsOf(skills: readonly Skill[]): SkillListing[] {
	return skills.map(({ name, description, when = [] }) => ({ name, description, when }));
}

/** One skill as a line of the index: `  - NAME: DESCRIPTION (when: a, b) (modalities: image)` (document 001, `index-line`). */
export function indexLine({ name, description, when, modalities }: Skill): string {
	return `  - ${name}: ${description}${clause('when', when)}${clause('modalities', modalities)}`;
}

/** The part of the system prompt that lists the skills; empty for none (document 001, `build-index`). */
export function buildIndex(skills: readonly Skill[]): string {
	if (skills.length === 0) return '';
	return ['Available skills you can read with read_skill(name):', ...skills.map(indexLine)].join('\n');
}

function clause(label: string, values: readonly string[] | undefined): string {
	return values === undefined || values.length === 0 ? '' : ` (${label}: ${values.join(', ')})`;
}
