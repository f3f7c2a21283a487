import { readResultName } from '../../core/chat/old-results.ts';
import { searchName } from '../../core/chat/tool-search.ts';
import { builtinNames } from '../../core/skill/builtins.ts';
import { forAgent as skillsForAgent } from '../../core/skill/index.ts';
import { providerName } from '../../core/tool/index.ts';
import type { Agent } from './define.ts';
import { listMemoryTools } from './memory.ts';

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
