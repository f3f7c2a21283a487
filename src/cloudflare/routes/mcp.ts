import { Hono } from 'hono/tiny';
import type { Agent } from '../agent/define.ts';
import type { McpConnector } from '../agent/mcp.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { RouteEnv } from './identity.ts';
import { createMissingRoutes } from './missing.ts';

/** What `runlet/cloudflare/mcp` gives: the Model Context Protocol, both ways (docs/mcp.md). */
export interface McpSupport extends McpConnector {
	/** Throws `invalid_agent`, which names the field, for servers of agents that are misspelt or do not agree. */
	assertServers(agents: readonly Agent[]): void;
	/** Makes its routes. What they need of the protocol is loaded with the first request. */
	routes(runtime: Runtime): McpRoutes;
}

export interface McpRoutes {
	/** `/v1/mcp`: what login pages ask, and where browsers come back from them. They have no key. */
	readonly logins: Hono<RouteEnv>;
	/** `/v1/mcp`: the servers of an owner and of the agents. */
	readonly servers: Hono<RouteEnv>;
	/** `/mcp`: the agents as servers. */
	readonly agents: Hono<RouteEnv>;
}

/** Makes the routes of a Worker without the protocol. */
export function createMissingMcp(): McpRoutes {
	const missing = createMissingRoutes('mcp');
	return { logins: new Hono<RouteEnv>(), servers: missing, agents: missing };
}
