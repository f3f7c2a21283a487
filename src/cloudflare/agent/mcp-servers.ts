import * as v from 'valibot';
import { RunletError } from '../../core/ground/errors.ts';
import { assertPublicUrl } from '../../core/ground/public-url.ts';
import { redactSecrets } from '../../core/ground/redact.ts';
import { longestServerName, serverName, serverSettings } from '../wire/mcp.ts';
import { assertHeaders, listSecretNames } from './user-tools/headers.ts';

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
	/** An https URL. Under `npm start` it may be on this machine. */
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

/** The field `mcp` of an agent. */
export const declaredServers = v.optional(
	v.pipe(
		v.array(
			v.strictObject({
				name: v.pipe(
					v.string(),
					v.regex(serverName, 'Use a-z, 0-9 and single hyphens'),
					v.maxLength(longestServerName, `at most ${longestServerName} characters`),
					v.check((name) => name !== 'callback', 'is the name of a route, /v1/mcp/callback. Choose another one'),
				),
				url: v.string(),
				headers: v.optional(v.record(v.string(), v.string('must be a text'))),
				...serverSettings,
			}),
			'must be a list of servers, such as [{ name, url }]',
		),
		v.maxLength(20, 'at most 20'),
		v.check((list) => new Set(list.map(({ name }) => name)).size === list.length, 'two of them have one name'),
	),
);

/** Throws `invalid_agent` for a server that may not be reached, and for a secret in the code. */
export function assertDeclared(servers: readonly AgentMcpServer[]): void {
	for (const [index, server] of servers.entries()) {
		const field = `mcp.${index}`;
		try {
			assertPublicUrl(server.url, { allowLoopback: true });
			const { headers = {} } = server;
			assertHeaders(headers, [...listSecretNames(headers)]);
			const written = JSON.stringify(server);
			if (redactSecrets(written) !== written)
				throw new RunletError(
					'invalid_agent',
					`headers: it has what looks like a key. Put it into a variable, and write \${NAME}.`,
				);
		} catch (error) {
			if (!(error instanceof RunletError)) throw error;
			throw new RunletError('invalid_agent', `${field}.${error.message}`, { field });
		}
	}
}

/** Lists the variables that a server of an agent needs. */
export function listVariables(server: AgentMcpServer): readonly string[] {
	const clientSecret = findClientSecret(server);
	return [...listSecretNames(server.headers ?? {}), ...(clientSecret === undefined ? [] : [clientSecret])];
}

/** Finds the name in `auth.clientSecret`. */
export function findClientSecret({ auth }: { readonly auth?: ServerAuth }): string | undefined {
	return typeof auth === 'object' ? auth.clientSecret?.slice(2, -1) : undefined;
}

/** Throws `invalid_agent` if agents mean different servers by one name: the logins of a name are for one server. */
export function assertServersAgree(
	agents: readonly { readonly name: string; readonly mcp?: readonly AgentMcpServer[] }[],
): void {
	const seen = new Map<string, { readonly agent: string; readonly what: string }>();
	for (const { name: agent, mcp = [] } of agents) {
		for (const { name, url, auth } of mcp) {
			const what = JSON.stringify([url, auth]);
			const other = seen.get(name);
			if (other !== undefined && other.what !== what)
				throw new RunletError(
					'invalid_agent',
					`mcp: the agents ${other.agent} and ${agent} mean different servers by ${name}: another url or auth. Give one of them another name.`,
					{ field: 'mcp' },
				);
			seen.set(name, { agent, what });
		}
	}
}
