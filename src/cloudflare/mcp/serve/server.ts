import { listToolNames } from '../../agent/tool-names.ts';
import { version } from '../../wire/version.ts';
import { orProtocolError } from './failure.ts';
import { servePrompts } from './prompts.ts';
import { createRunTools, type RunTool } from './run-tools.ts';
import { callRunTool } from './runs.ts';
import { createMcpHandler, McpServer } from './sdk.ts';
import type { ServedAgent } from './served.ts';
import { serveSkills } from './skills.ts';
import { createAgentTools, describeTool } from './tools.ts';

/** Milliseconds for which a client can cache a list. */
const listMs = 60_000;

/** Without this, the SDK would declare that lists report changes. */
const unwatched = { listChanged: false };

/** Answers a request of an MCP client, of either revision. A new server is made for each request. */
export function serveAgent(request: Request, served: ServedAgent): Promise<Response> {
	return createMcpHandler(() => createAgentServer(served)).fetch(request, { parsedBody: served.body });
}

function createAgentServer(served: ServedAgent): McpServer {
	const { agent } = served;
	const hint = { ttlMs: listMs, cacheScope: 'private' } as const;
	const server = new McpServer(
		{ name: agent.name, title: agent.name, version },
		{
			// No state is kept between requests, so no list can report a change.
			capabilities: { tools: unwatched, logging: {}, ...(served.skills && { resources: unwatched }) },
			instructions: `${agent.description} Its own tools run one call each; ask and agent_start give it a task.`,
			cacheHints: { 'tools/list': hint, 'prompts/list': hint, 'resources/list': hint, 'server/discover': hint },
		},
	);
	serveTools(server, served);
	if (served.skills !== undefined) {
		servePrompts(server, served.skills, served.reader);
		serveSkills(server, served.skills);
	}
	return server;
}

function serveTools({ server }: McpServer, served: ServedAgent): void {
	const tools = createAgentTools(served, (result, schema) => server.projectCallToolResult(result, schema));
	const runTools = createRunTools(served.agent.name, listToolNames(served.agent));
	server.setRequestHandler('tools/list', async () => {
		const own = await orProtocolError(served.reader, () => tools.list());
		return { tools: [...own.map(describeTool), ...runTools.map(describeRunTool)] };
	});
	server.setRequestHandler('tools/call', async ({ params }, ctx) => {
		const runTool = runTools.find(({ tool }) => tool.name === params.name);
		if (runTool !== undefined)
			return orProtocolError(served.reader, () => callRunTool(served, runTool, params.arguments, ctx));
		return orProtocolError(served.reader, () => tools.call(params, ctx));
	});
}

function describeRunTool({ tool: { name, description, inputSchema, outputSchema }, annotations }: RunTool) {
	return {
		...describeTool({ name, description, inputSchema, outputSchema, isRepeatable: false }),
		...(annotations && { annotations }),
	};
}
