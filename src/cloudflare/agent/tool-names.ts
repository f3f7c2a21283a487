import { readResultName } from '../../core/chat/old-results.ts';
import { listProviderTools } from '../../core/chat/provider-tool.ts';
import { searchName } from '../../core/chat/tool-search.ts';
import { builtinNames, skillFileName } from '../../core/skill/builtins.ts';
import { forAgent } from '../../core/skill/index.ts';
import { type Label, providerName, type Tool } from '../../core/tool/index.ts';
import { findChildWork } from './children.ts';
import type { Agent } from './define.ts';
import { findMemoryOptions, listMemoryTools } from './memory.ts';

/** Whether the model can search the web, through its provider or a tool. */
export function hasWebSearch(agent: Agent): boolean {
	const { providerTools } = agent;
	const isProvided = listProviderTools({ providerTools }).some(({ type }) => type.startsWith('web_search'));
	return isProvided || listToolNames(agent).has('web_search');
}

/** The names, as providers see them, of Runlet's tools and the agent's own. A client's tool cannot use these names. */
export function listToolNames(agent: Agent): ReadonlySet<string> {
	return nameTools(agent, listWrittenTools(agent));
}

/**
 * The names, as providers see them, of tools whose results are not text from outside: tools in the project's code that
 * do not say `reads: 'outside'`. Other tools are an owner's, a client's or an MCP server's, or no longer exist. A file
 * of a skill counts as text from outside: the owner chose the skill, but perhaps never read its files.
 */
export function listInsideTools(agent: Agent): ReadonlySet<string> {
	const written = listWrittenTools(agent).filter((tool) => !isReading(tool, 'outside'));
	return new Set([...nameTools(agent, written)].filter((name) => name !== skillFileName));
}

/** The names, as providers see them, of tools that read private data, by themselves or through another agent. */
export function listPrivateTools(
	agent: Agent,
	agents: readonly Agent[],
	seen: readonly Agent[] = [],
): ReadonlySet<string> {
	const isPrivate = (tool: Tool): boolean => {
		const others = findChildWork(tool)?.agents ?? [];
		return (
			isReading(tool, 'private') ||
			agents.some(
				(one) =>
					others.includes(one.name) &&
					!seen.includes(one) &&
					(recallsOrServes(one) || listPrivateTools(one, agents, [...seen, agent]).size > 0),
			)
		);
	};
	const own = listWrittenTools(agent).filter(isPrivate);
	const served = (agent.mcp ?? []).flatMap((server) =>
		typeof server.private === 'object' ? server.private.map((tool) => `${server.name}_${tool}`) : [],
	);
	return new Set([...own.map(({ name }) => name), ...listMemoryTools(agent), ...served].map(providerName));
}

/** Whether private data reaches an agent without a tool of its code: by its memory, or by an MCP server. */
function recallsOrServes(agent: Agent): boolean {
	return findMemoryOptions(agent) !== undefined || (agent.mcp ?? []).some((server) => server.private === true);
}

function isReading({ reads = [] }: Tool, label: Label): boolean {
	return [reads].flat().includes(label);
}

function listWrittenTools({ tools, skillTools, skills }: Agent): readonly Tool[] {
	const own = skills === 'all' ? [] : forAgent(skills.filter((entry) => typeof entry !== 'string'));
	return [...tools, ...skillTools, ...own.flatMap((skill) => skill.tools ?? [])];
}

function nameTools(agent: Agent, tools: readonly Tool[]): ReadonlySet<string> {
	const own = tools.map(({ name }) => name);
	const names = [...builtinNames, searchName, readResultName, ...listMemoryTools(agent), ...own];
	return new Set(names.map(providerName));
}
