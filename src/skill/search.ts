import type { Skill } from './skill.ts';

export interface SearchOptions {
	/** How many to give at most; 10. */
	readonly limit?: number | undefined;
	/** Scores below this are left out; 1. */
	readonly minScore?: number | undefined;
}

/**
 * Skills that match a text, best first, equals in the order given (document 001, `search-skills-of`). A case-insensitive
 * substring counts 3 in the name, 2 in the description, 1 in each `when`; an empty query finds nothing.
 */
export function searchSkillsOf(
	skills: readonly Skill[],
	query: string,
	{ limit = 10, minScore = 1 }: SearchOptions = {},
): Skill[] {
	const needle = query.trim().toLowerCase();
	if (needle === '') return [];
	return skills
		.map((skill) => ({ skill, score: scoreOf(skill, needle) }))
		.filter(({ score }) => score > 0 && score >= minScore)
		.sort((a, b) => b.score - a.score)
		.slice(0, Math.max(0, limit))
		.map(({ skill }) => skill);
}

function scoreOf({ name, description, when = [] }: Skill, needle: string): number {
	const has = (text: string): boolean => text.toLowerCase().includes(needle);
	return (has(name) ? 3 : 0) + (has(description) ? 2 : 0) + when.filter(has).length;
}
