import type { AnyFn } from '../tool/index.ts';
import { buildIndex } from './list.ts';
import { type FoundSkill, type SearchOptions, searchSkillsOf } from './search.ts';
import { findSkill, forAgent, type Skill } from './skill.ts';

/** What a resolver is told when the index of a turn is built. */
export interface ListContext {
	readonly messages: readonly unknown[];
	readonly system?: string;
	readonly model: string;
}

/**
 * Where skills come from: `listFn` says which a turn advertises, `readFn` finds one by name, advertised or not, and
 * `searchFn`, where there is one, gives the model a `search_skills` tool.
 */
export interface SkillResolver {
	listFn(context: ListContext): readonly Skill[] | Promise<readonly Skill[]>;
	readFn(name: string): Skill | undefined | null | Promise<Skill | undefined | null>;
	searchFn?(query: string, options?: SearchOptions): readonly FoundSkill[] | Promise<readonly FoundSkill[]>;
	/** How many skills there are beyond those that `listFn` lists: the model is told of them. Missing: none, or nobody knows. */
	moreFn?(context: ListContext): number | Promise<number>;
	/** As `readFn`, but the text and the files may be missing: for who only wants to know what a skill brings. */
	findFn?(name: string): Skill | undefined | null | Promise<Skill | undefined | null>;
	/** Whether a skill of it may have files: then there is a `read_skill_file` tool. */
	readonly hasFiles?: boolean;
	/** All its skills, where it holds them. */
	readonly skills?: readonly Skill[];
}

/** Advertises every skill, every turn; no search. */
export function inMemoryResolver(entries: readonly (AnyFn | Skill)[]): SkillResolver {
	const skills = forAgent(entries);
	return { listFn: () => skills, readFn: (name) => findSkill(skills, name), hasFiles: hasFiles(skills), skills };
}

/**
 * Advertises only `alwaysOn`; the rest is found by `search_skills` and read by name. `alwaysOn` takes skills, or names
 * of skills in the list.
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

/** The resolver that a run uses: an explicit one wins, else the skills given, else none. */
export function effectiveResolver(
	resolver: SkillResolver | undefined,
	skills: readonly (AnyFn | Skill)[] | undefined,
): SkillResolver | undefined {
	if (resolver !== undefined) return resolver;
	return skills === undefined || skills.length === 0 ? undefined : inMemoryResolver(skills);
}

/** What a turn's system prompt says of the skills there are: those listed, and how many more can be found. */
export async function listAdvertised(resolver: SkillResolver, context: ListContext): Promise<string> {
	const listed = await resolver.listFn(context);
	return buildIndex(listed, resolver.searchFn === undefined ? 0 : await resolver.moreFn?.(context));
}

/** The skill of that name, without its text where that costs less. */
export async function findIn(resolver: SkillResolver, name: string): Promise<Skill | undefined> {
	const found = resolver.findFn === undefined ? resolver.readFn(name) : resolver.findFn(name);
	return (await found) ?? undefined;
}

/** The skill of that name, with its text. */
export async function readIn(resolver: SkillResolver, name: string): Promise<Skill | undefined> {
	return (await resolver.readFn(name)) ?? undefined;
}

/** Several resolvers as one; of two skills with one name the earlier resolver's counts. */
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
