import * as v from 'valibot';
import { define } from '../tool/define.ts';
import type { AnyFn, Tool, ToolContext } from '../tool/index.ts';
import { type Bundle, type Loaded, loadRequired } from './bundle.ts';
import { inMemoryResolver, listFoundSkills, listSkillsOf, readIn, type SkillResolver } from './resolver.ts';
import { loadBody, type Skill, type SkillContext } from './skill.ts';

/** The name of the tool that reads files of skills. */
export const skillFileName = 'read_skill_file';

type Skills = readonly (AnyFn | Skill)[];

/** The names of all skill tools. */
export const builtinNames: readonly string[] = [
	'list_skills',
	'read_skill',
	'apply_skill',
	'search_skills',
	skillFileName,
];

/** Makes `list_skills`, `read_skill` and `apply_skill` for these skills. */
export function builtins(skills: Skills, skillContext?: SkillContext): Tool[] {
	return builtinsWithResolver(inMemoryResolver(skills), skillContext);
}

/**
 * Makes the skill tools for a resolver. Adds `search_skills` if the resolver can search, and `read_skill_file` if its
 * skills can have files.
 */
export function builtinsWithResolver(resolver: SkillResolver, skillContext?: SkillContext): Tool[] {
	return createBuiltins(resolver, { skillContext });
}

export interface BuiltinOptions {
	readonly skillContext?: SkillContext;
	/** Adds the tools of skills to the run's tools. Without this function, `read_skill` does not name these tools. */
	readonly bundle?: ((skills: readonly Skill[]) => Bundle | undefined) | undefined;
}

export function createBuiltins(resolver: SkillResolver, options: BuiltinOptions): Tool[] {
	return [
		builtinListSkillsR(resolver),
		readSkill(resolver, options),
		applySkill(resolver, options),
		...(resolver.searchFn === undefined ? [] : [builtinSearchSkillsR(resolver)]),
		...(resolver.hasFiles === true ? [builtinReadSkillFileR(resolver)] : []),
	];
}

/** Makes `list_skills` for a fixed set of skills. */
export function builtinListSkills(skills: Skills): Tool {
	return builtinListSkillsR(inMemoryResolver(skills));
}

/** Makes `read_skill` for a fixed set of skills. */
export function builtinReadSkill(skills: Skills): Tool {
	return builtinReadSkillR(inMemoryResolver(skills));
}

/** Makes `apply_skill` for a fixed set of skills. */
export function builtinApplySkill(skills: Skills, skillContext?: SkillContext): Tool {
	return builtinApplySkillR(inMemoryResolver(skills), skillContext);
}

/** Makes `list_skills`. It asks the resolver at every call, so the model gets the current list. */
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

/**
 * Makes `read_skill(name)`. It also reads skills that are not listed. It answers `Unknown skill: NAME` if there
 * is no such skill.
 */
export function builtinReadSkillR(resolver: SkillResolver): Tool {
	return readSkill(resolver, {});
}

/**
 * Makes `apply_skill(name, ctx)`. It works like `read_skill` and also passes a context to the skill's `bodyFn`. Values
 * of `skillContext` replace values from the model, so a model cannot forge `attachments`.
 */
export function builtinApplySkillR(resolver: SkillResolver, skillContext?: SkillContext): Tool {
	return applySkill(resolver, { skillContext });
}

function readSkill(resolver: SkillResolver, { bundle }: BuiltinOptions): Tool {
	return define({
		name: 'read_skill',
		description: 'Read the instructions of a skill by its name.',
		inputSchema: v.object({ name: v.string() }),
		passInput: true,
		retry: 'safe',
		fn: ({ name }, context) => toSkillText(resolver, name, context?.skillContext ?? {}, bundle),
	});
}

function applySkill(resolver: SkillResolver, { skillContext, bundle }: BuiltinOptions): Tool {
	return define({
		name: 'apply_skill',
		description: 'Apply a skill: its instructions made for the given context.',
		inputSchema: v.object({ name: v.string(), ctx: v.optional(v.record(v.string(), v.unknown())) }),
		passInput: true,
		retry: 'safe',
		fn: ({ name, ctx }, context?: ToolContext) =>
			toSkillText(resolver, name, { ...ctx, ...context?.skillContext, ...skillContext }, bundle),
	});
}

/**
 * Makes `read_skill_file(name, path)`. The path must equal the path of one of the skill's files, so no path leads out
 * of the skill's folder. For any other path, the answer lists the files of the skill.
 */
export function builtinReadSkillFileR(resolver: SkillResolver): Tool {
	return define({
		name: skillFileName,
		description: 'Read a file of a skill, such as references/api.md, by its path in the folder of the skill.',
		inputSchema: v.object({ name: v.string(), path: v.string() }),
		passInput: true,
		reads: 'outside',
		retry: 'safe',
		fn: async ({ name, path }) => {
			const skill = await readIn(resolver, name);
			return skill === undefined ? describeUnknownSkill(name) : findFile(skill, path);
		},
	});
}

/** Makes `search_skills(query, limit?)` with the resolver's `searchFn`. Returns the scores of the resolver, if any. */
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

/** The answer to the model if no skill has the requested name. */
export function describeUnknownSkill(name: string): string {
	return `Unknown skill: ${name}`;
}

async function toSkillText(
	resolver: SkillResolver,
	name: string,
	context: SkillContext,
	bundle: BuiltinOptions['bundle'],
): Promise<string> {
	const skill = await readIn(resolver, name);
	if (skill === undefined) return describeUnknownSkill(name);
	const text = await loadBody(skill, context);
	return [text, ...describeRequired(await loadRequired(resolver, skill), bundle)].join('\n\n');
}

/** Describes the skills that a skill requires, and the tools that the skill adds. */
function describeRequired({ skills, missing, circles }: Loaded, bundle: BuiltinOptions['bundle']): string[] {
	const [{ requires = [] } = {}] = skills;
	const names = new Set(skills.map(({ name }) => name));
	const { tools, taken } = bundle?.(skills) ?? { tools: [], taken: [] };
	const callable = tools.filter(({ skill }) => names.has(skill)).map(({ tool }) => tool.name);
	const refused = taken.filter(({ skill }) => names.has(skill)).map(({ tool, skill }) => `${tool.name} of ${skill}`);
	const lines: [string, readonly string[]][] = [
		['This skill builds on others. Read them too', requires.filter((name) => !missing.includes(name))],
		['Not there, though this skill builds on it', missing],
		['These build on each other in a circle', circles.map((circle) => circle.join(' → '))],
		['Tools that you can call from your next turn on', callable],
		['Not callable, because another tool has the same name', refused],
	];
	return lines.flatMap(([what, list]) => (list.length === 0 ? [] : [`${what}: ${list.join(', ')}.`]));
}

/** The maximum number of paths that are listed in the answer for an unknown path. */
const mostPaths = 200;

function findFile({ name, files = {} }: Skill, path: string): string {
	const paths = Object.keys(files).filter(isInside);
	const text = paths.includes(path) ? files[path] : undefined;
	if (text !== undefined) return text;
	if (paths.length === 0) return `The skill ${name} has no files.`;
	const more = paths.length > mostPaths ? `, and ${paths.length - mostPaths} more` : '';
	return `The skill ${name} has no file ${JSON.stringify(path)}. Its files: ${paths.slice(0, mostPaths).join(', ')}${more}.`;
}

/** Whether a path stays inside its folder: each name in the path is a plain name. */
function isInside(path: string): boolean {
	return !/[\\\p{Cc}]/u.test(path) && path.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
}
