import type { FoundSkill } from './search.ts';
import type { Skill } from './skill.ts';

/** What a listing needs of a skill. */
type Listed = Pick<Skill, 'name' | 'description' | 'when' | 'modalities'>;

/** One skill in the listing that a model scans. */
export interface SkillListing {
	readonly name: string;
	readonly description: string;
	readonly when: readonly string[];
}

/** `{ name, description, when }` of each skill. */
export function listSkillsOf(skills: readonly Skill[]): SkillListing[] {
	return skills.map(toListing);
}

/** The same for skills that a search found, with their scores where there are any. */
export function listFoundSkills(found: readonly FoundSkill[]): (SkillListing & { score?: number })[] {
	return found.map((skill) => ({
		...toListing(skill),
		...(skill.score !== undefined && { score: Math.round(skill.score * 100) / 100 }),
	}));
}

function toListing({ name, description, when = [] }: Skill): SkillListing {
	return { name, description, when };
}

/** One skill as a line of the index: `  - NAME: DESCRIPTION (when: a, b) (modalities: image)`. */
export function indexLine({ name, description, when, modalities }: Listed): string {
	return `  - ${name}: ${description}${renderClause('when', when)}${renderClause('modalities', modalities)}`;
}

/**
 * The part of the system prompt that lists the skills; empty for none. Where there are `more` than those listed, a last
 * line says how many, and how to find them: no skill is lost silently.
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
