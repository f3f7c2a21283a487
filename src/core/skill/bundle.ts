import { forAgent, providerName } from '../tool/define.ts';
import type { AnyFn, Tool } from '../tool/index.ts';
import { findIn, type SkillResolver } from './resolver.ts';
import type { Skill } from './skill.ts';
import { readToolNames } from './skill.ts';

/** A skill, all skills that it requires, and the problems with them. The skill itself is the first of `skills`. */
export interface Loaded {
	readonly skills: readonly Skill[];
	/** Required names without a skill. */
	readonly missing: readonly string[];
	/** Circles of skills that require each other. Each circle is a list of names that ends with its first name. */
	readonly circles: readonly (readonly string[])[];
}

/** Loads a skill and follows `requires`. Each skill is loaded once. Missing skills and circles cause no error. */
export async function loadRequired(resolver: SkillResolver, skill: Skill): Promise<Loaded> {
	const skills = new Map<string, Skill>();
	const missing = new Set<string>();
	const circles: string[][] = [];
	const visit = async (found: Skill, path: readonly string[]): Promise<void> => {
		skills.set(found.name, found);
		for (const name of found.requires ?? []) {
			const at = path.indexOf(name);
			if (at !== -1) circles.push([...path.slice(at), name]);
			if (at !== -1 || skills.has(name)) continue;
			const next = await findIn(resolver, name);
			if (next === undefined) missing.add(name);
			else await visit(next, [...path, name]);
		}
	};
	await visit(skill, [skill.name]);
	return { skills: [...skills.values()], missing: [...missing], circles };
}

/** A tool that a skill adds. */
export interface BundledTool {
	readonly tool: Tool;
	readonly skill: string;
}

/** The tools that skills add to the tools of a run. */
export interface Bundle {
	readonly tools: readonly BundledTool[];
	/** The tools that are left out because their names were already taken by other tools. */
	readonly taken: readonly BundledTool[];
}

/**
 * Combines the skills' own tools with the tools of `offered` that the skills name in `allowed-tools`. If two tools have
 * the same name, the first one counts. The tools of the run come first, then the tools of the skills in order.
 */
export function createBundle(there: readonly Tool[], skills: readonly Skill[], offered: readonly Tool[]): Bundle {
	const names = new Set(there.map(({ name }) => providerName(name)));
	const tools = new Map<string, BundledTool>();
	const taken: BundledTool[] = [];
	for (const skill of new Map(skills.map((one) => [one.name, one])).values()) {
		for (const tool of listTools(skill, offered)) {
			const name = providerName(tool.name);
			const before = tools.get(name);
			if (names.has(name) || (before !== undefined && before.tool !== tool)) taken.push({ tool, skill: skill.name });
			else if (before === undefined) tools.set(name, { tool, skill: skill.name });
		}
	}
	return { tools: [...tools.values()], taken };
}

function listTools({ tools = [], frontMatter }: Skill, offered: readonly Tool[]): readonly Tool[] {
	const named = readToolNames(frontMatter?.['allowed-tools']);
	return [...ownTools(tools), ...offered.filter(({ name }) => named.has(name))];
}

const made = new WeakMap<object, readonly Tool[]>();

/** Returns a skill's own tools. They are made once, even if the skill is read several times. */
function ownTools(entries: readonly (AnyFn | Tool)[]): readonly Tool[] {
	const tools = made.get(entries) ?? forAgent(entries);
	made.set(entries, tools);
	return tools;
}
