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
export { type KvResolverOptions, kvResolver } from './kv/resolver.ts';
export type { SkillStore } from './kv/store.ts';
export { buildIndex, indexLine, listSkillsOf, type SkillListing } from './list.ts';
export { fromMarkdown, toMarkdown, type Violation, validateMarkdown } from './markdown.ts';
export {
	effectiveResolver,
	inMemoryResolver,
	type ListContext,
	type SkillResolver,
	searchableResolver,
} from './resolver.ts';
export { type FoundSkill, type SearchOptions, searchSkillsOf } from './search.ts';
export { type BodyFn, findSkill, forAgent, fromFn, loadBody, type Skill, type SkillContext } from './skill.ts';
