import type { Skill } from './skill.ts';

/** The fields of a skill that are searched. */
export type Searched = Pick<Skill, 'name' | 'description' | 'when'>;

export interface SearchOptions {
	/** The most results. The default is 10. */
	readonly limit?: number;
	/** The lowest score of a result. The default is 1, or 0 if the resolver has its own scores. */
	readonly minScore?: number;
}

/** A skill that a search found. */
export interface FoundSkill extends Skill {
	/** How well it fits by the score of its resolver. Higher is better. */
	readonly score?: number;
}

/**
 * Searches skills, the best first; equal scores keep their order. A case-insensitive substring counts 3 in the name, 2
 * in the description, and 1 in each `when`. An empty query finds nothing.
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

/** Returns all matches with their scores, in the same order. */
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
