import type { FoundSkill } from './search.ts';
import type { Skill } from './skill.ts';

/** The fields of a skill that a listing needs. */
type Listed = Pick<Skill, 'name' | 'description' | 'when' | 'modalities'>;

/** A skill in a listing for a model. */
export interface SkillListing {
	readonly name: string;
	readonly description: string;
	readonly when: readonly string[];
}

/** Lists skills as `{ name, description, when }`. */
export function listSkillsOf(skills: readonly Skill[]): SkillListing[] {
	return skills.map(toListing);
}

/** Lists found skills, with their scores if there are any. */
export function listFoundSkills(found: readonly FoundSkill[]): (SkillListing & { score?: number })[] {
	return found.map((skill) => ({
		...toListing(skill),
		...(skill.score !== undefined && { score: Math.round(skill.score * 100) / 100 }),
	}));
}

function toListing({ name, description, when = [] }: Skill): SkillListing {
	return { name, description, when };
}

/** Formats a skill as a line of the index: `  - NAME: DESCRIPTION (when: a, b) (modalities: image)`. */
export function indexLine({ name, description, when, modalities }: Listed): string {
	return `  - ${name}: ${description}${renderClause('when', when)}${renderClause('modalities', modalities)}`;
}

/**
 * Builds the part of the system prompt that lists the skills. Empty if there are none. If there are `more` skills than
 * listed, a last line says how many and how to find them.
 */
export function buildIndex(skills: readonly Skill[], more = 0): string {
	const lines = [
		...(skills.length > 0 ? ['Available skills you can read with read_skill(name):', ...skills.map(indexLine)] : []),
		...(more > 0 ? [moreLine(more, skills.length > 0)] : []),
	];
	return lines.join('\n');
}

function moreLine(more: number, beyond: boolean): string {
	const subject = `${more}${beyond ? ' more' : ''} ${more === 1 ? 'skill is' : 'skills are'}`;
	return `${subject} available: find one with search_skills(query), then read it with read_skill(name).`;
}

function renderClause(label: string, values: readonly string[] | undefined): string {
	return values === undefined || values.length === 0 ? '' : ` (${label}: ${values.join(', ')})`;
}
