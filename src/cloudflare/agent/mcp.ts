import type { NamedSecret } from '../../core/base/secrets.ts';
import type { Warn } from '../../core/chat/options.ts';
import type { Tool } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import type { Agent } from './define.ts';

/** The interface of the plugin `mcp` for sessions. A Worker without the plugin contains none of its code. */
export interface McpConnector {
	/** Prepares a session's connections. They open when the tools are first loaded. */
	connect(options: ConnectionsOptions): McpConnections;
}

export interface ConnectionsOptions {
	readonly config: Config;
	/** The session that waits if a call needs a login. */
	readonly session: string;
	readonly owner: string;
	/** The session's user, who logs in if the owner has no login. */
	readonly user?: string;
	/** Whether the owner itself is the person. If so, this login is valid for all sessions of the owner. */
	readonly isOwners: boolean;
	readonly agent: Agent;
	/** All agents of the Worker. */
	readonly agents: readonly Agent[];
}

/** The connections of a session. They stay open between runs while the object is in memory. */
export interface McpConnections {
	/** The secrets of the owner's servers that were connected. The array changes only with the list. */
	readonly secrets: readonly NamedSecret[];
	/** Makes the next `loadTools` read the list of servers again. */
	refresh(): void;
	/** Returns the tools of all servers. A server that fails is left out, with a warning. */
	loadTools(warn: Warn): Promise<readonly Tool[]>;
	/** Never throws. */
	close(): Promise<void>;
}
