import { setTimeout as pause } from 'node:timers/promises';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStateless } from '../core/mcp/serve.ts';
import { createEffects, type Effects } from './effects.ts';
import { kills } from './kills.ts';
import type { Figures, Options } from './stage.ts';

/** The tools of the MCP server, and whether the agent declares that they may be repeated. */
const names = ['keyed', 'unsafe', 'lookup'] as const;

const inputSchema = fromJsonSchema<{ readonly intent: string }>({
	type: 'object',
	properties: { intent: { type: 'string' } },
	required: ['intent'],
});

/** How long a tool works, in milliseconds. */
const toolMs = 300;

/**
 * Runs `kills` with the tools of an MCP server. The server counts the calls. A tool that the agent does not
 * declare safe is never called twice.
 */
export async function served(options: Options): Promise<Figures> {
	const effects = createEffects();
	const server = await serveStateless(() => createServer(effects));
	try {
		const figures = await kills(options, { MCP: server.url }, { agent: 'connected', prefix: 'out_', effects });
		return { ...figures, 'calls of the server': effects.total };
	} finally {
		await server.close();
	}
}

function createServer(effects: Effects): McpServer {
	const server = new McpServer({ name: 'out', version: '1' });
	for (const name of names)
		server.registerTool(name, { description: `Has an effect (${name}).`, inputSchema }, async ({ intent }) => {
			effects.take({ tool: name, key: intent, intent, session: '' });
			await pause(toolMs);
			return { content: [{ type: 'text', text: 'done' }] };
		});
	return server;
}
