import { forAgent } from '../tool/define.ts';
import type { AnyFn, Tool } from '../tool/index.ts';
import { providerName } from '../tool/provider-name.ts';
import { toolNames } from './allowed-tools.ts';
import { findIn, type SkillResolver } from './resolver.ts';
import type { Skill } from './skill.ts';

/** A skill with all that it requires, itself first, and what is wrong with that. */
export interface Loaded {
	readonly skills: readonly Skill[];
	/** Names that no skill has. */
	readonly missing: readonly string[];
	/** Skills that require each other: the names on the way, the first again at the end. */
	readonly circles: readonly (readonly string[])[];
}

/** Follows `requires` through all skills, each once. Never throws for what is missing or goes in a circle. */
export async function withRequired(resolver: SkillResolver, skill: Skill): Promise<Loaded> {
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

/** A tool that a skill brings. */
export interface BundledTool {
	readonly tool: Tool;
	readonly skill: string;
}

/** What skills bring beside the tools that are there. */
export interface Bundle {
	readonly tools: readonly BundledTool[];
	/** Those whose name another tool has. */
	readonly taken: readonly BundledTool[];
}

/**
 * The tools of skills: their own, and those of `offered` that they name in `allowed-tools`. Of two with one name the
 * earlier counts: a tool that is there already, then that of the skill that stands first.
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
	const named = toolNames(frontMatter?.['allowed-tools']);
	return [...ownTools(tools), ...offered.filter(({ name }) => named.has(name))];
}

const made = new WeakMap<object, readonly Tool[]>();

/** A skill's own tools, made once however often the skill is read. */
function ownTools(entries: readonly (AnyFn | Tool)[]): readonly Tool[] {
	const tools = made.get(entries) ?? forAgent(entries);
	made.set(entries, tools);
	return tools;
}
