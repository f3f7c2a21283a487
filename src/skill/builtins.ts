import * as v from 'valibot';
import { define } from '../tool/define.ts';
import type { AnyFn, Tool, ToolContext } from '../tool/index.ts';
import { listFoundSkills, listSkillsOf } from './list.ts';
import { inMemoryResolver, type SkillResolver } from './resolver.ts';
import { loadBody, type Skill, type SkillContext } from './skill.ts';

type Skills = readonly (AnyFn | Skill)[];

/** `list_skills`, `read_skill` and `apply_skill` over these skills (document 001, `builtins`). */
export function builtins(skills: Skills, skillContext?: SkillContext): Tool[] {
	return builtinsWithResolver(inMemoryResolver(skills), skillContext);
}

/** The same over a resolver, with `search_skills` where it can search (document 001, `builtins-with-resolver`). */
export function builtinsWithResolver(resolver: SkillResolver, skillContext?: SkillContext): Tool[] {
	return [
		builtinListSkillsR(resolver),
		builtinReadSkillR(resolver),
		builtinApplySkillR(resolver, skillContext),
		...(resolver.searchFn === undefined ? [] : [builtinSearchSkillsR(resolver)]),
	];
}

/** `list_skills` over a fixed set (document 001). */
export function builtinListSkills(skills: Skills): Tool {
	return builtinListSkillsR(inMemoryResolver(skills));
}

/** `read_skill` over a fixed set (document 001). */
export function builtinReadSkill(skills: Skills): Tool {
	return builtinReadSkillR(inMemoryResolver(skills));
}

/** `apply_skill` over a fixed set (document 001). */
export function builtinApplySkill(skills: Skills, skillContext?: SkillContext): Tool {
	return builtinApplySkillR(inMemoryResolver(skills), skillContext);
}

/** `list_skills`: asks the resolver at every call, so the model sees what is advertised now (document 001). */
export function builtinListSkillsR(resolver: SkillResolver): Tool {
	return define({
		name: 'list_skills',
		description: 'List the available skills: name, description, and when each applies.',
		inputSchema: v.object({}),
		passInput: true,
		retry: 'safe',
		fn: async () => listSkillsOf(await resolver.listFn({ messages: [], model: '' })),
	});
}

/** `read_skill(name)`: the skill's text, also of one that was never advertised; `Unknown skill: NAME` for none (document 001). */
export function builtinReadSkillR(resolver: SkillResolver): Tool {
	return define({
		name: 'read_skill',
		description: 'Read the instructions of a skill by its name.',
		inputSchema: v.object({ name: v.string() }),
		passInput: true,
		retry: 'safe',
		fn: ({ name }, context) => textOf(resolver, name, context?.skillContext ?? {}),
	});
}

/**
 * `apply_skill(name, ctx)`: as `read_skill`, with a context for the skill's `bodyFn`. The harness's `skillContext` wins
 * over what the model says, so the model cannot spoof `attachments` (document 001).
 */
export function builtinApplySkillR(resolver: SkillResolver, skillContext?: SkillContext): Tool {
	return define({
		name: 'apply_skill',
		description: 'Apply a skill: its instructions made for the given context.',
		inputSchema: v.object({ name: v.string(), ctx: v.optional(v.record(v.string(), v.unknown())) }),
		passInput: true,
		retry: 'safe',
		fn: ({ name, ctx }, context?: ToolContext) =>
			textOf(resolver, name, { ...ctx, ...context?.skillContext, ...skillContext }),
	});
}

/** `search_skills(query, limit?)` by the resolver's `searchFn`, with its scores where it has any (document 001). */
export function builtinSearchSkillsR(resolver: SkillResolver): Tool {
	return define({
		name: 'search_skills',
		description: 'Find skills by a few words. Then read one with read_skill(name).',
		inputSchema: v.object({
			query: v.string(),
			limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50))),
		}),
		passInput: true,
		retry: 'safe',
		fn: async ({ query, limit }) => listFoundSkills((await resolver.searchFn?.(query, { limit })) ?? []),
	});
}

async function textOf(resolver: SkillResolver, name: string, context: SkillContext): Promise<string> {
	const skill = await resolver.readFn(name);
	if (skill === undefined) return `Unknown skill: ${name}`;
	const text = await loadBody(skill, context);
	const { requires = [] } = skill;
	return requires.length === 0
		? text
		: `${text}\n\nThis skill builds on others. Read them too: ${requires.join(', ')}.`;
}
