import * as v from 'valibot';
import { define } from '../tool/define.ts';
import type { AnyFn, Tool, ToolContext } from '../tool/index.ts';
import { type Bundle, type Loaded, withRequired } from './bundle.ts';
import { listFoundSkills, listSkillsOf } from './list.ts';
import { inMemoryResolver, readIn, type SkillResolver } from './resolver.ts';
import { loadBody, type Skill, type SkillContext } from './skill.ts';

type Skills = readonly (AnyFn | Skill)[];

/** The names of all skill tools that a run may have. */
export const builtinNames: readonly string[] = [
	'list_skills',
	'read_skill',
	'apply_skill',
	'search_skills',
	'read_skill_file',
];

/** `list_skills`, `read_skill` and `apply_skill` over these skills. */
export function builtins(skills: Skills, skillContext?: SkillContext): Tool[] {
	return builtinsWithResolver(inMemoryResolver(skills), skillContext);
}

/**
 * The same over a resolver, with `search_skills` where it can search, and `read_skill_file` where a skill of it may
 * have files.
 */
export function builtinsWithResolver(resolver: SkillResolver, skillContext?: SkillContext): Tool[] {
	return createBuiltins(resolver, { skillContext });
}

/** What the skill tools of a run are told. */
export interface BuiltinOptions {
	readonly skillContext?: SkillContext;
	/** What comes of the tools that skills bring; without it nothing is said of them. */
	readonly bundle?: ((skills: readonly Skill[]) => Bundle | undefined) | undefined;
}

/** The skill tools of a run. */
export function createBuiltins(resolver: SkillResolver, options: BuiltinOptions): Tool[] {
	return [
		builtinListSkillsR(resolver),
		readSkill(resolver, options),
		applySkill(resolver, options),
		...(resolver.searchFn === undefined ? [] : [builtinSearchSkillsR(resolver)]),
		...(resolver.hasFiles === true ? [builtinReadSkillFileR(resolver)] : []),
	];
}

/** `list_skills` over a fixed set. */
export function builtinListSkills(skills: Skills): Tool {
	return builtinListSkillsR(inMemoryResolver(skills));
}

/** `read_skill` over a fixed set. */
export function builtinReadSkill(skills: Skills): Tool {
	return builtinReadSkillR(inMemoryResolver(skills));
}

/** `apply_skill` over a fixed set. */
export function builtinApplySkill(skills: Skills, skillContext?: SkillContext): Tool {
	return builtinApplySkillR(inMemoryResolver(skills), skillContext);
}

/** `list_skills`: asks the resolver at every call, so the model sees what is advertised now. */
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

/** `read_skill(name)`: the skill's text, also of one that was never advertised; `Unknown skill: NAME` for none. */
export function builtinReadSkillR(resolver: SkillResolver): Tool {
	return readSkill(resolver, {});
}

/**
 * `apply_skill(name, ctx)`: as `read_skill`, with a context for the skill's `bodyFn`. The harness's `skillContext` wins
 * over what the model says, so the model cannot spoof `attachments`.
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
 * `read_skill_file(name, path)`: a text file beside a skill's text. A path is one of the skill's own, letter by letter, so
 * none leads out of its folder; the answer to any other names the files that there are.
 */
export function builtinReadSkillFileR(resolver: SkillResolver): Tool {
	return define({
		name: 'read_skill_file',
		description: 'Read a file of a skill, such as references/api.md, by its path in the folder of the skill.',
		inputSchema: v.object({ name: v.string(), path: v.string() }),
		passInput: true,
		retry: 'safe',
		fn: async ({ name, path }) => {
			const skill = await readIn(resolver, name);
			return skill === undefined ? unknownSkill(name) : findFile(skill, path);
		},
	});
}

/** `search_skills(query, limit?)` by the resolver's `searchFn`, with its scores where it has any. */
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

/** What a model is told where no skill has that name. */
export function unknownSkill(name: string): string {
	return `Unknown skill: ${name}`;
}

async function toSkillText(
	resolver: SkillResolver,
	name: string,
	context: SkillContext,
	bundle: BuiltinOptions['bundle'],
): Promise<string> {
	const skill = await readIn(resolver, name);
	if (skill === undefined) return unknownSkill(name);
	const text = await loadBody(skill, context);
	return [text, ...aboutRequired(await withRequired(resolver, skill), bundle)].join('\n\n');
}

/** What is to be said of what a skill requires, and of the tools that come with it. */
function aboutRequired({ skills, missing, circles }: Loaded, bundle: BuiltinOptions['bundle']): string[] {
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

/** Paths that are named to a model that asks for another. */
const mostPaths = 200;

function findFile({ name, files = {} }: Skill, path: string): string {
	const paths = Object.keys(files).filter(isInside);
	const text = paths.includes(path) ? files[path] : undefined;
	if (text !== undefined) return text;
	if (paths.length === 0) return `The skill ${name} has no files.`;
	const more = paths.length > mostPaths ? `, and ${paths.length - mostPaths} more` : '';
	return `The skill ${name} has no file ${JSON.stringify(path)}. Its files: ${paths.slice(0, mostPaths).join(', ')}${more}.`;
}

/** Whether a path is a plain one within a folder, whoever wrote it. */
function isInside(path: string): boolean {
	return !/[\\\p{Cc}]/u.test(path) && path.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
}
