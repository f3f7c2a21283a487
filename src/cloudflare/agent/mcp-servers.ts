import { listSecretNames } from './user-tools/headers.ts';

/** How users log in to a server: OAuth 2.1, with the settings of the server's provider. */
export type ServerAuth =
	| 'oauth'
	| {
			/** The scopes of the login. By default the server names the scopes. */
			readonly scopes?: readonly string[];
			/** This Worker's client id at the provider. By default the Worker registers itself. */
			readonly clientId?: string;
			/** `${NAME}`: the variable that contains the client secret. */
			readonly clientSecret?: string;
	  };

/** An MCP server whose tools an agent offers. */
export interface AgentMcpServer {
	/** The prefix of its tools' names, `NAME_TOOL`: a–z, 0–9 and single hyphens, 32 at most. */
	readonly name: string;
	/** An https URL. Under `npm start` it can be on this machine. `${NAME}` in its path or query is a variable. */
	readonly url: string;
	/** Headers of each request. `${NAME}` in a value is a variable, so that no secret is in the code. */
	readonly headers?: Readonly<Record<string, string>>;
	/** How each owner logs in. No login by default. */
	readonly auth?: ServerAuth;
	/** The tools to offer, by the server's own names. By default all tools are offered. */
	readonly allow?: readonly string[];
	/** Whether a person decides about each call, or about each call of the named tools. No by default. */
	readonly needsApproval?: boolean | readonly string[];
	/** The tools that return private data: `true` for all, or their own names. None by default. */
	readonly private?: boolean | readonly string[];
	/** Tools that can be called again after a crash. None by default, even if the server declares them safe. */
	readonly safe?: readonly string[];
	/** The time limit of a call in milliseconds. 60,000 by default. */
	readonly timeoutMs?: number;
}

export function listVariables(server: AgentMcpServer): readonly string[] {
	const clientSecret = findClientSecret(server);
	const named = listSecretNames({ ...server.headers, url: server.url });
	return [...named, ...(clientSecret === undefined ? [] : [clientSecret])];
}

/** Returns the name of the variable in `auth.clientSecret`. */
export function findClientSecret({ auth }: { readonly auth?: ServerAuth }): string | undefined {
	return typeof auth === 'object' ? auth.clientSecret?.slice(2, -1) : undefined;
}
