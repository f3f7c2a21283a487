/** What `import { mcp } from 'runlet/cloudflare/mcp'` gives: pass it as `createRunlet({ agents, mcp })` (docs/mcp.md). */

import type { McpConnections, McpSupport } from '../agent/mcp.ts';

export type { McpSupport } from '../agent/mcp.ts';

/**
 * The Model Context Protocol of a Worker, for `createRunlet({ mcp })`. What it needs is loaded with its first use, and not
 * at a cold start.
 */
export const mcp: McpSupport = {
	serve: async (request, served) => (await import('./serve/handler.ts')).serveAgent(request, served),
	connect: (options) => {
		let connections: Promise<McpConnections> | undefined;
		const load = () =>
			(connections ??= import('./connect/connections.ts').then((one) => one.createConnections(options)));
		return {
			refresh: () => void connections?.then((one) => one.refresh()),
			loadTools: async (warn) => (await load()).loadTools(warn),
			close: async () => (await connections)?.close(),
		};
	},
	inspect: async (config, server) => (await import('./connect/inspect.ts')).inspectServer(config, server),
	acceptTools: async (config, server, hashes) =>
		(await import('./connect/inspect.ts')).acceptOffered(config, server, hashes),
	startLogin: async (config, server) => (await import('./connect/logins.ts')).beginLogin(config, server),
	finishLogin: async (config, query, findServer) =>
		(await import('./connect/logins.ts')).endLogin(config, query, findServer),
	describeClient: async (config) => (await import('./connect/client-metadata.ts')).describeClient(config),
};
