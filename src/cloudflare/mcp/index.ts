/** The module `runlet/cloudflare/mcp` (docs/mcp.md). */

import type { McpConnections } from '../agent/mcp.ts';
import type { Plugin } from '../plugin.ts';
import { createAgentsRoute } from './routes/agents.ts';
import { createLoginRoutes } from './routes/logins.ts';
import { createServerRoutes } from './routes/servers.ts';
import { assertServers } from './servers/declared.ts';

/**
 * The Model Context Protocol: servers whose tools agents offer, and agents as servers. The protocol's code is loaded
 * at its first use, not at a cold start.
 */
export const mcp: Plugin = {
	name: 'mcp',
	assertAgents: assertServers,
	listRoutes: (runtime) => [...createLoginRoutes(runtime), ...createServerRoutes(runtime)],
	mount: (app, runtime) => app.route('/mcp', createAgentsRoute(runtime)),
	provides: {
		mcp: {
			connect: (options) => {
				let connections: Promise<McpConnections> | undefined;
				let opened: McpConnections | undefined;
				const load = () =>
					(connections ??= import('./connect/connections.ts').then((module) => module.createConnections(options)));
				return {
					refresh: () => void connections?.then((opened) => opened.refresh()),
					loadTools: async (warn) => {
						opened = await load();
						return opened.loadTools(warn);
					},
					get secrets() {
						return opened?.secrets ?? [];
					},
					close: async () => (await connections)?.close(),
				};
			},
		},
	},
};
