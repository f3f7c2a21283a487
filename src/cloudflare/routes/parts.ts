import type { Hono } from 'hono/tiny';
import type { Agent } from '../agent/define.ts';
import type { McpConnector } from '../agent/mcp.ts';
import type { MemorySupport } from '../agent/memory.ts';
import type { Runtime } from '../agent/runtime.ts';
import type { ScheduleConnector } from '../agent/schedule-connector.ts';
import { createMissing, type PartName } from '../objects/missing.ts';
import type { RouteEnv } from './identity.ts';
import type { Route } from './mount.ts';

/** The export of `runlet/cloudflare/mcp`: the Model Context Protocol for clients and for servers (docs/mcp.md). */
export interface McpSupport extends McpConnector {
	/** Throws `invalid_agent`, which names the field, for servers of agents that are misspelt or do not agree. */
	assertServers(agents: readonly Agent[]): void;
	/** Makes its routes. The protocol's code is loaded with the first request that needs it. */
	routes(runtime: Runtime): McpRoutes;
}

interface McpRoutes {
	/** `/v1/mcp`: the servers of an owner and of the agents, and the logins to them. */
	readonly servers: readonly Route[];
	/** `/mcp`: the agents as servers. */
	readonly agents: Hono<RouteEnv>;
}

/** The export of `runlet/cloudflare/memory`: what agents remember beyond a session (docs/memory.md). */
export interface Remembrance extends MemorySupport {
	/** `/v1/memories`. */
	readonly routes: readonly Route[];
}

/** The export of `runlet/cloudflare/schedules` (docs/schedules.md). */
export interface ScheduleSupport extends ScheduleConnector {
	/** `/v1/schedules`. */
	readonly routes: readonly Route[];
}

/** The optional parts of a Worker that have routes. */
export interface Parts {
	readonly mcp?: McpSupport;
	readonly memory?: Remembrance;
	readonly schedules?: ScheduleSupport;
	readonly links?: { readonly routes: readonly Route[] };
}

const partPaths: readonly (readonly [part: PartName, path: string])[] = [
	['links', '/v1/sessions/:id/links'],
	['mcp', '/mcp/*'],
	['mcp', '/v1/mcp/*'],
	['memory', '/v1/memories/*'],
	['schedules', '/v1/schedules/*'],
];

/** Answers the paths of missing parts with `not_found`, which says how to add the part. */
export function refuseMissing(app: Hono<RouteEnv>, parts: Parts): void {
	for (const [part, path] of partPaths)
		if (parts[part] === undefined)
			app.all(path, () => {
				throw createMissing(part);
			});
}
