/** What `import { mcp } from 'runlet/cloudflare/mcp'` gives: pass it as `createRunlet({ agents, mcp })` (docs/mcp.md). */

import type { McpConnections } from '../agent/mcp.ts';
import type { McpSupport } from '../routes/parts.ts';
import { createAgentsRoute } from './routes/agents.ts';
import { createLoginRoutes } from './routes/logins.ts';
import { createServerRoutes } from './routes/servers.ts';
import { assertServers } from './servers/declared.ts';

export type { McpSupport } from '../routes/parts.ts';

/**
 * The Model Context Protocol of a Worker, for `createRunlet({ mcp })`. What it needs is loaded with its first use, and not
 * at a cold start.
 */
export const mcp: McpSupport = {
	assertServers,
	routes: (runtime) => ({
		servers: [...createLoginRoutes(runtime), ...createServerRoutes(runtime)],
		agents: createAgentsRoute(runtime),
	}),
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
};
