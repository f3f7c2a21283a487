import {
	type CallToolResult,
	fromJsonSchema,
	type InputRequiredResult,
	McpServer,
	type ServerContext,
} from '@modelcontextprotocol/server';
import { afterEach } from 'vitest';
import { type FromServerOptions, fromServer, type ServerTools } from '../../../src/core/mcp/index.ts';
import { dispatch, type InvokeContext, type Tool, type ToolResult } from '../../../src/core/tool/index.ts';
import { type Served, serveSessions, serveStateless } from './serve.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
	for (const one of open.splice(0).toReversed()) await one.close();
});

/** Closes a resource after the test. */
export function keep<T extends { close(): Promise<void> }>(one: T): T {
	open.push(one);
	return one;
}

/** Both revisions of the protocol, each with the function that starts a server. */
export const revisions: readonly (readonly [string, (create: () => McpServer) => Promise<Served>])[] = [
	['2026-07-28', serveStateless],
	['2025-11-25', serveSessions],
];

/** The function of a fixture's tool. */
export type Work = (
	args: Record<string, unknown>,
	context: ServerContext,
) => CallToolResult | InputRequiredResult | Promise<CallToolResult | InputRequiredResult>;

export interface FixtureTool {
	readonly description?: string;
	readonly properties?: Record<string, object>;
	readonly outputSchema?: Record<string, unknown>;
	readonly work: Work;
}

/** Creates a server with these tools. The tools do not check their arguments. */
export function createServer(tools: Readonly<Record<string, FixtureTool | Work>>): () => McpServer {
	return () => {
		const server = new McpServer({ name: 'fixture', version: '1.0.0' });
		for (const [name, tool] of Object.entries(tools)) addTool(server, name, tool);
		return server;
	};
}

export function addTool(server: McpServer, name: string, tool: FixtureTool | Work) {
	const {
		description = `Does ${name}.`,
		properties = {},
		outputSchema,
		work,
	} = typeof tool === 'function' ? { work: tool } : tool;
	return server.registerTool(
		name,
		{
			description,
			inputSchema: fromJsonSchema<Record<string, unknown>>({ type: 'object', properties }),
			...(outputSchema !== undefined && { outputSchema: fromJsonSchema(outputSchema) }),
		},
		work,
	);
}

export function text(words: string): CallToolResult {
	return { content: [{ type: 'text', text: words }] };
}

/** Connects to a server until the end of the test. */
export async function connect(
	{ url }: { readonly url: string },
	more: Partial<FromServerOptions> = {},
): Promise<ServerTools> {
	return keep(await fromServer({ name: 'fixture', url, ...more }));
}

/** Calls a tool by the server's own name. */
export function call(
	tools: readonly Tool[],
	name: string,
	input: unknown = {},
	context: InvokeContext = {},
): Promise<ToolResult> {
	return dispatch(tools, { id: 'c1', name: `fixture_${name}`, input }, context);
}
