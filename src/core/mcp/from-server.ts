import type { Tool } from '../tool/index.ts';
import { type McpConnection, openConnection } from './connection.ts';
import type { ConnectionOptions } from './connection-options.ts';
import type { McpServer } from './server.ts';

/** A server, and how it is reached. */
export interface FromServerOptions extends McpServer, Pick<ConnectionOptions, 'fetch' | 'acceptance' | 'onProblem'> {
	/** Logs in to the server (OAuth 2.1). */
	readonly auth?: ConnectionOptions['login'];
}

/** The tools of a server, as they were listed first, and its connection. */
export interface ServerTools extends McpConnection {
	readonly tools: readonly Tool[];
}

/**
 * Connects to a server and lists its tools. Give `tools` to an agent, or `loadTools` to a run that takes up what changes
 * meanwhile. A server on this machine may be named. Rejects where the server cannot be reached, wants a login, or gives
 * no list.
 */
export async function fromServer(options: FromServerOptions): Promise<ServerTools> {
	const { fetch, acceptance, onProblem, auth, ...server } = options;
	const connection = openConnection(server, { fetch, acceptance, onProblem, login: auth, allowLoopback: true });
	try {
		const tools = await connection.refresh();
		return { tools, loadTools: connection.loadTools, close: connection.close };
	} catch (thrown) {
		await connection.close();
		throw thrown;
	}
}
