import type { Warn } from '../../core/chat/options.ts';
import type { Tool } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import type { Agent } from './define.ts';

/** What a session uses of the plugin `mcp`. A Worker without the plugin carries no code of it. */
export interface McpConnector {
	/** Makes the connections of a session to servers. Nothing is sent before their tools are loaded. */
	connect(options: ConnectionsOptions): McpConnections;
}

/** What the connections of a session are made of. */
export interface ConnectionsOptions {
	readonly config: Config;
	/** The session that waits where a call needs a login. */
	readonly session: string;
	readonly owner: string;
	/** The person of the session, who logs in where the owner has not. */
	readonly user?: string;
	/** Whether the owner itself is the person, who logs in for all its sessions. */
	readonly isOwners: boolean;
	/** The agent whose servers they are, and all agents of the Worker. */
	readonly agent: Agent;
	readonly agents: readonly Agent[];
}

/** The connections of a session. They stay open between its runs, as long as its object is in memory. */
export interface McpConnections {
	/** Reads the servers again before the next list: a run begins. */
	refresh(): void;
	/** Returns the tools of all servers. One that fails costs a warning and its tools, not the run. */
	loadTools(warn: Warn): Promise<readonly Tool[]>;
	/** Ends all connections. Never throws. */
	close(): Promise<void>;
}
