import type { Skill } from './skill.ts';

/** What of a skill is searched. */
export type Searched = Pick<Skill, 'name' | 'description' | 'when'>;

export interface SearchOptions {
	/** How many to give at most; 10. */
	readonly limit?: number;
	/** Scores below this are left out; 1, and 0 where a resolver has a measure of its own. */
	readonly minScore?: number;
}

/** A skill that a search found. */
export interface FoundSkill extends Skill {
	/** How well it fits, in the measure of its resolver: more is better. */
	readonly score?: number;
}

/**
 * Skills that match a text, best first, equals in the order given. A case-insensitive substring counts 3 in the name, 2
 * in the description, 1 in each `when`; an empty query finds nothing.
 */
export function searchSkillsOf(
	skills: readonly Skill[],
	query: string,
	{ limit = 10, minScore = 1 }: SearchOptions = {},
): Skill[] {
	return scoreSkills(skills, query)
		.filter(({ score }) => score >= minScore)
		.slice(0, Math.max(0, limit))
		.map(({ skill }) => skill);
}

/** All that match, with their scores, in the same order. */
export function scoreSkills<S extends Searched>(skills: readonly S[], query: string): { skill: S; score: number }[] {
	const needle = query.trim().toLowerCase();
	if (needle === '') return [];
	return skills
		.map((skill) => ({ skill, score: scoreSkill(skill, needle) }))
		.filter(({ score }) => score > 0)
		.sort((a, b) => b.score - a.score);
}

function scoreSkill({ name, description, when = [] }: Searched, needle: string): number {
	const has = (text: string): boolean => text.toLowerCase().includes(needle);
	return (has(name) ? 3 : 0) + (has(description) ? 2 : 0) + when.filter(has).length;
}
