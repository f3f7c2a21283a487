import { listSecretNames } from './user-tools/headers.ts';

/** How its users log in to a server: OAuth 2.1, with what the server's provider says to set. */
export type ServerAuth =
	| 'oauth'
	| {
			/** What the login asks for. The server says it if this is missing. */
			readonly scopes?: readonly string[];
			/** The id of this Worker at the provider. It registers by itself if this is missing. */
			readonly clientId?: string;
			/** `${NAME}`: the variable with the secret of the id. */
			readonly clientSecret?: string;
	  };

/** An MCP server whose tools an agent offers. */
export interface AgentMcpServer {
	/** The beginning of its tools' names, `NAME_TOOL`: a–z, 0–9 and single hyphens, 32 at most. */
	readonly name: string;
	/** An https URL. Under `npm start` it may be on this machine. `${NAME}` in its path or query is a variable. */
	readonly url: string;
	/** Headers of each request. `${NAME}` in a value is the variable of that name, so that no secret is in the code. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Whether and how each owner logs in to it. Nobody does if it is missing. */
	readonly auth?: ServerAuth;
	/** The only tools that are offered, by the server's own names. All if it is missing. */
	readonly allow?: readonly string[];
	/** Whether a person decides about each call, or about those of the named tools. No if it is missing. */
	readonly needsApproval?: boolean | readonly string[];
	/** Tools that may be called again after a crash. None if it is missing, whatever the server says. */
	readonly safe?: readonly string[];
	/** How long a call may take, in milliseconds. 60,000 if it is missing. */
	readonly timeoutMs?: number;
}

/** Lists the variables that a server of an agent needs. */
export function listVariables(server: AgentMcpServer): readonly string[] {
	const clientSecret = findClientSecret(server);
	const named = listSecretNames({ ...server.headers, url: server.url });
	return [...named, ...(clientSecret === undefined ? [] : [clientSecret])];
}

/** Finds the name in `auth.clientSecret`. */
export function findClientSecret({ auth }: { readonly auth?: ServerAuth }): string | undefined {
	return typeof auth === 'object' ? auth.clientSecret?.slice(2, -1) : undefined;
}
