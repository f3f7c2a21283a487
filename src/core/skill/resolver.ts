import type { AnyFn } from '../tool/index.ts';
import { findSkill, forAgent, type Skill } from './skill.ts';

/** The data that a resolver gets when a turn builds its index. */
export interface ListContext {
	readonly messages: readonly unknown[];
	readonly system?: string;
	readonly model: string;
}

/**
 * A source of skills. `listFn` returns the skills that a turn lists. `readFn` finds a skill by its name, even if the
 * skill is not listed. `searchFn`, if present, gives the model a `search_skills` tool.
 */
export interface SkillResolver {
	listFn(context: ListContext): readonly Skill[] | Promise<readonly Skill[]>;
	readFn(name: string): Skill | undefined | null | Promise<Skill | undefined | null>;
	searchFn?(query: string, options?: SearchOptions): readonly FoundSkill[] | Promise<readonly FoundSkill[]>;
	/** The number of skills that `listFn` leaves out. The model sees this number. If missing, it sees no number. */
	moreFn?(context: ListContext): number | Promise<number>;
	/** Like `readFn`, but can leave out the text and files, for callers that need only the other fields. */
	findFn?(name: string): Skill | undefined | null | Promise<Skill | undefined | null>;
	/** Whether the skills can have files. The tool `read_skill_file` reads these files. */
	readonly hasFiles?: boolean;
	/** All skills of the resolver, if they are in memory. */
	readonly skills?: readonly Skill[];
}

/** Lists every skill in every turn. Has no search, because the model sees all skills. */
export function inMemoryResolver(entries: readonly (AnyFn | Skill)[]): SkillResolver {
	const skills = forAgent(entries);
	return { listFn: () => skills, readFn: (name) => findSkill(skills, name), hasFiles: hasFiles(skills), skills };
}

/**
 * Lists only the skills of `alwaysOn`. The model finds the other skills with `search_skills` and reads them by name.
 * `alwaysOn` has skills, or the names of skills in `entries`.
 */
export function searchableResolver(
	entries: readonly (AnyFn | Skill)[],
	{ alwaysOn = [] }: { readonly alwaysOn?: readonly (AnyFn | Skill | string)[] } = {},
): SkillResolver {
	const listed = forAgent(entries);
	const advertised = alwaysOn.flatMap((entry) =>
		typeof entry === 'string' ? (findSkill(listed, entry) ?? []) : forAgent([entry]),
	);
	const skills = [...listed, ...advertised.filter((skill) => findSkill(listed, skill.name) === undefined)];
	return {
		listFn: () => advertised,
		readFn: (name) => findSkill(skills, name),
		searchFn: (query, options) => searchSkillsOf(skills, query, options),
		hasFiles: hasFiles(skills),
		skills,
	};
}

/** Returns the resolver of a run: `resolver`, or a resolver for `skills` if there are any skills. */
export function effectiveResolver(
	resolver: SkillResolver | undefined,
	skills: readonly (AnyFn | Skill)[] | undefined,
): SkillResolver | undefined {
	if (resolver !== undefined) return resolver;
	return skills === undefined || skills.length === 0 ? undefined : inMemoryResolver(skills);
}

/** Builds the index of a turn: the listed skills, and the number of further skills that can be found. */
export async function listAdvertised(resolver: SkillResolver, context: ListContext): Promise<string> {
	const listed = await resolver.listFn(context);
	return buildIndex(listed, resolver.searchFn === undefined ? 0 : await resolver.moreFn?.(context));
}

/** Finds a skill by its name. The skill possibly lacks its text and files. */
export async function findIn(resolver: SkillResolver, name: string): Promise<Skill | undefined> {
	const found = resolver.findFn === undefined ? resolver.readFn(name) : resolver.findFn(name);
	return (await found) ?? undefined;
}

/** Reads a skill by its name, with its text. */
export async function readIn(resolver: SkillResolver, name: string): Promise<Skill | undefined> {
	return (await resolver.readFn(name)) ?? undefined;
}

/** Makes a resolver that has only the skills with these names, and lists all of them. */
export function restrictResolver(resolver: SkillResolver, names: readonly string[]): SkillResolver {
	const isIn = ({ name }: Skill) => names.includes(name);
	const { searchFn, hasFiles } = resolver;
	return {
		listFn: async (context) => {
			const listed = (await resolver.listFn(context)).filter(isIn);
			const missing = names.filter((name) => findSkill(listed, name) === undefined);
			const found = await Promise.all(missing.map((name) => findIn(resolver, name)));
			return [...listed, ...found.filter((skill) => skill !== undefined)];
		},
		readFn: (name) => (names.includes(name) ? resolver.readFn(name) : undefined),
		findFn: (name) => (names.includes(name) ? findIn(resolver, name) : undefined),
		...(searchFn !== undefined && {
			searchFn: async (query: string, options?: SearchOptions) =>
				(await searchFn.call(resolver, query, options)).filter(isIn),
		}),
		hasFiles,
	};
}

/** Joins several resolvers. If two skills have the same name, the skill of the earlier resolver counts. */
export function joinResolvers(resolvers: readonly SkillResolver[]): SkillResolver {
	const unique = <S extends Skill>(lists: readonly (readonly S[])[]): S[] =>
		[
			...new Map(
				lists
					.flat()
					.toReversed()
					.map((skill) => [skill.name, skill]),
			).values(),
		].toReversed();
	const counting = resolvers.filter(({ moreFn }) => moreFn !== undefined);
	const searching = resolvers.filter(({ searchFn }) => searchFn !== undefined);
	const first = async (read: (resolver: SkillResolver) => Promise<Skill | undefined>) => {
		for (const resolver of resolvers) {
			const found = await read(resolver);
			if (found !== undefined) return found;
		}
		return undefined;
	};
	return {
		listFn: async (context) => unique<Skill>(await Promise.all(resolvers.map((resolver) => resolver.listFn(context)))),
		readFn: (name) => first((resolver) => readIn(resolver, name)),
		findFn: (name) => first((resolver) => findIn(resolver, name)),
		hasFiles: resolvers.some(({ hasFiles }) => hasFiles === true),
		...(counting.length > 0 && {
			moreFn: async (context: ListContext) => {
				const counts = await Promise.all(counting.map((resolver) => resolver.moreFn?.(context) ?? 0));
				return counts.reduce((sum, count) => sum + count, 0);
			},
		}),
		...(searching.length > 0 && {
			searchFn: async (query: string, options?: SearchOptions) =>
				unique<FoundSkill>(await Promise.all(searching.map((resolver) => resolver.searchFn?.(query, options) ?? []))),
		}),
	};
}

function hasFiles(skills: readonly Skill[]): boolean {
	return skills.some(({ files = {} }) => Object.keys(files).length > 0);
}

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

/** Lists the skills that a search found, with their scores if there are any. */
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
 * Builds the part of the system prompt that lists the skills. Empty if there are no skills. `more` is the number of
 * skills that are not listed. A last line gives this number and says how to find these skills.
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

/** The fields of a skill in which the search looks. */
export type Searched = Pick<Skill, 'name' | 'description' | 'when'>;

export interface SearchOptions {
	/** The maximum number of results. The default is 10. */
	readonly limit?: number;
	/** The lowest score of a result. The default is 1, or 0 if the resolver has its own scores. */
	readonly minScore?: number;
}

/** A skill that a search found. */
export interface FoundSkill extends Skill {
	/** How well the skill fits, by the score of its resolver. Higher is better. */
	readonly score?: number;
}

/**
 * Searches skills, best first. Equal scores keep their order. A substring scores 3 in the name, 2 in the description,
 * and 1 in each `when`. Upper and lower case do not matter. An empty query finds nothing.
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

/** Returns all matches with their scores, best first. */
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
