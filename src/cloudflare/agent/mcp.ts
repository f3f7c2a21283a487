import type { Warn } from '../../core/chat/options.ts';
import type { SkillResolver } from '../../core/skill/index.ts';
import type { Tool } from '../../core/tool/index.ts';
import type { Config } from '../config/config.ts';
import type { RpcResult } from '../objects/result.ts';
import type { CreateInput, SessionApi } from '../objects/session-api.ts';
import type { clientMetadata } from '../wire/mcp.ts';
import type { Shown } from '../wire/shown.ts';
import type { Agent } from './define.ts';
import type { FoundServer } from './mcp-servers/find.ts';

/**
 * What `runlet/cloudflare/mcp` gives: the Model Context Protocol, both ways. The rest of the Worker knows only this
 * interface, so that a Worker without `createRunlet({ mcp })` carries nothing of it.
 */
export interface McpSupport {
	/** Serves an agent as an MCP server: answers one HTTP request of a client. */
	serve(request: Request, served: ServedAgent): Promise<Response>;
	/** Makes the connections of a session to servers. Nothing is sent before their tools are loaded. */
	connect(options: ConnectionsOptions): McpConnections;
	/** Asks a server for its tools. Never throws for a server that fails. */
	inspect(config: Config, server: FoundServer): Promise<Inspected>;
	/**
	 * Accepts tools by the hashes of what was seen of them. Throws `conflict` if a server now says something else, and
	 * `not_found` for a tool that it has not.
	 */
	acceptTools(config: Config, server: FoundServer, hashes: Readonly<Record<string, string>>): Promise<void>;
	/** Begins a login outside of a run. Gives its page; nothing if there is a login already. */
	startLogin(config: Config, server: FoundServer): Promise<URL | undefined>;
	/** Finishes the login whose page a browser comes back from. Never throws. */
	finishLogin(config: Config, query: URLSearchParams, findServer: FindServer): Promise<FinishedLogin>;
	/** What login pages are told of this Worker. Nothing where they cannot read it. */
	describeClient(config: Config): Promise<Shown<typeof clientMetadata> | undefined>;
}

/** What the connections of a session are made of. */
export interface ConnectionsOptions {
	readonly config: Config;
	/** The session that waits where a call needs a login. */
	readonly session: string;
	/** Finds the servers, once for each run. */
	readonly findServers: () => Promise<readonly FoundServer[]>;
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

/** A tool of a server, and what changed since it was accepted. */
export interface InspectedTool {
	readonly name: string;
	readonly hash: string;
	readonly differences?: readonly { readonly field: string; readonly accepted: string; readonly offered: string }[];
}

/** What a server answered: its tools, or why not. */
export type Inspected = { readonly tools: readonly InspectedTool[] } | { readonly problem: string };

export type FindServer = (owner: string, name: string) => Promise<FoundServer | undefined>;

/** How a login ended. */
export type FinishedLogin =
	/** Somebody is logged in. The sessions waited for it. */
	| { readonly server: string; readonly owner: string; readonly sessions: readonly string[] }
	/** What to tell the person. */
	| { readonly problem: string };

/** An agent that is served, and for whom. The route has identified the caller, and has read the body. */
export interface ServedAgent {
	readonly agent: Agent;
	/** Its skills, as a run of the caller has them. */
	readonly skills: SkillResolver | undefined;
	readonly caller: { readonly owner: string };
	/** The body of the request, parsed. */
	readonly body?: unknown;
	/** The session that the address names. */
	readonly sessionName?: string;
	/** Returns a session of the caller: one by its id or by a name of the client, or else a new one. */
	findSession(name: string | undefined): ServedSession;
}

/** A session of a served agent. */
export interface ServedSession {
	readonly id: string;
	/** The values of the session, if it may be created. */
	readonly create?: CreateInput;
	/** @param isSafe whether the operation may be asked again if the session was not reached */
	ask<T>(call: (one: SessionApi) => Promise<RpcResult<T>>, isSafe?: boolean): Promise<T>;
}
