import type { Agent } from '../cloudflare/agent/define.ts';
import type { AgentMcpServer } from '../cloudflare/agent/mcp-servers.ts';
import type { Tool } from '../core/index.ts';
import { createToolName } from '../core/mcp/server.ts';

/** The tools of MCP servers, by the servers' names. */
export type TestServers = Readonly<Record<string, readonly Tool[]>>;

/** Makes the tools that an agent offers of fake servers: those that it declares, and those of its users. */
export function createServerTools({ mcp = [], userMcp }: Agent, servers: TestServers): readonly Tool[] {
	return Object.entries(servers).flatMap(([name, tools]) => {
		const declared = mcp.find((server) => server.name === name);
		if (declared === undefined && userMcp !== true) throw new Error(`mcp: the agent has no server ${name}.`);
		const server: Pick<AgentMcpServer, 'name' | 'allow' | 'needsApproval' | 'safe'> = declared ?? { name };
		const isAllowed = (tool: Tool) => server.allow?.includes(tool.name) ?? true;
		return tools.filter(isAllowed).map((tool) => offer(tool, server));
	});
}

function offer(
	tool: Tool,
	{ name, needsApproval = false, safe = [] }: Pick<AgentMcpServer, 'name' | 'needsApproval' | 'safe'>,
): Tool {
	return {
		...tool,
		name: createToolName({ name }, tool.name),
		readsOutside: true,
		needsApproval: typeof needsApproval === 'boolean' ? needsApproval : needsApproval.includes(tool.name),
		retry: safe.includes(tool.name) ? 'safe' : 'never',
	};
}
