import { readResultName } from '../../core/chat/old-results.ts';
import { listProviderTools } from '../../core/chat/provider-tool.ts';
import { searchName } from '../../core/chat/tool-search.ts';
import { builtinNames } from '../../core/skill/builtins.ts';
import { forAgent, forAgent as skillsForAgent } from '../../core/skill/index.ts';
import { providerName } from '../../core/tool/index.ts';
import type { Agent } from './define.ts';
import { listMemoryTools } from './memory.ts';

/** Whether an agent's model may search the web: by its provider, or by a tool. */
export function hasWebSearch(agent: Agent): boolean {
	const { providerTools } = agent;
	const isProvided = listProviderTools({ providerTools }).some(({ type }) => type.startsWith('web_search'));
	return isProvided || listToolNames(agent).has('web_search');
}

/**
 * Lists the names of all tools that an agent's model may ever call, as a provider sees them: its own, those of its
 * skills, those by which it remembers, those that read skills, and those that find tools and open older results. No client may use one of them for a tool of its own.
 */
export function listToolNames(agent: Agent): ReadonlySet<string> {
	const { tools, skillTools, skills } = agent;
	const own = skills === 'all' ? [] : forAgent(skills.filter((entry) => typeof entry !== 'string'));
	const brought = own.flatMap((skill) => skill.tools ?? []);
	return new Set([
		...builtinNames,
		searchName,
		readResultName,
		...listMemoryTools(agent),
		...[...tools, ...skillTools, ...brought].map(({ name }) => providerName(name)),
	]);
}

/**
 * Lists the names of tools whose results are no text from outside, as a provider sees them: those that the project has
 * written, without the ones that say `readsOutside`. Every other name is of a tool that somebody else has written or
 * answers: an owner's, a client's, an MCP server's, or one that the agent has no more.
 */
export function listInsideTools(agent: Agent): ReadonlySet<string> {
	const { tools, skillTools, skills } = agent;
	const own = skills === 'all' ? [] : skillsForAgent(skills.filter((entry) => typeof entry !== 'string'));
	const brought = own.flatMap((skill) => skill.tools ?? []);
	const inside = [...tools, ...skillTools, ...brought].filter(({ readsOutside }) => readsOutside !== true);
	const names = [
		...builtinNames,
		searchName,
		readResultName,
		...listMemoryTools(agent),
		...inside.map(({ name }) => name),
	];
	return new Set(names.map(providerName));
}
