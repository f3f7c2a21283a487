/** `skill`: instructions that a model reads when it needs them, and the open SKILL.md format. */

export {
	builtinApplySkill,
	builtinApplySkillR,
	builtinListSkills,
	builtinListSkillsR,
	builtinReadSkill,
	builtinReadSkillFileR,
	builtinReadSkillR,
	builtinSearchSkillsR,
	builtins,
	builtinsWithResolver,
} from './builtins.ts';
export type { SkillsProblem } from './kv/documents.ts';
export type { SkillStore } from './kv/layout.ts';
export { type KvResolverOptions, kvResolver } from './kv/resolver.ts';
export { fromMarkdown, toMarkdown, type Violation, validateMarkdown } from './markdown.ts';
export {
	buildIndex,
	effectiveResolver,
	type FoundSkill,
	indexLine,
	inMemoryResolver,
	type ListContext,
	listSkillsOf,
	type SearchOptions,
	type SkillListing,
	type SkillResolver,
	searchableResolver,
	searchSkillsOf,
} from './resolver.ts';
export { type BodyFn, findSkill, forAgent, fromFn, loadBody, type Skill, type SkillContext } from './skill.ts';
