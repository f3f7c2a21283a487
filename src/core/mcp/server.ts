import { assertKnownFields } from '../ground/check.ts';
import { RunletError } from '../ground/errors.ts';
import { providerName } from '../tool/index.ts';
import type { Acceptance, Difference } from './acceptance.ts';

/** A server of the Model Context Protocol, over streamable HTTP, whose tools an agent may call. */
export interface McpServer {
	/** The prefix of its tools: `NAME_TOOL`. 1 to 40 letters, digits, `_` and `-`. */
	readonly name: string;
	readonly url: string;
	/** Headers of each request to it, and of no request to anybody else. */
	readonly headers?: Readonly<Record<string, string>>;
	/** The only tools of the server that are offered, by the server's own names. The default is all. */
	readonly allow?: readonly string[];
	/** Whether a person decides about each call, or about those of the named tools. */
	readonly needsApproval?: boolean | readonly string[];
	/** The tools that may run again after a crash. What the server itself says about that does not count. */
	readonly safe?: readonly string[];
	/** Milliseconds for a call, counted again after each sign of progress. The default is 60,000. */
	readonly timeoutMs?: number;
}

const fields = ['name', 'url', 'headers', 'allow', 'needsApproval', 'safe', 'timeoutMs'];

/** Throws `invalid_request`, with the field, for a server that cannot be one. */
export function assertServer(server: McpServer): void {
	assertKnownFields(server, fields, { owner: 'an MCP server' });
	const { name, url, timeoutMs } = server;
	const refuse = (field: string, what: string) => new RunletError('invalid_request', `${field}: ${what}`, { field });
	if (typeof name !== 'string' || !/^[\w-]{1,40}$/.test(name))
		throw refuse('name', 'expected 1 to 40 letters, digits, "_" and "-", such as "github".');
	if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
		throw refuse('url', 'expected the address of the server, such as "https://mcp.example.com/mcp".');
	if (timeoutMs !== undefined && !(timeoutMs > 0)) throw refuse('timeoutMs', 'expected milliseconds, such as 60000.');
}

/**
 * Returns the name under which a tool of a server is offered: `NAME_TOOL`, if providers take that. Any other name
 * becomes a readable one with a hash, which is the same in every process.
 */
export function createToolName({ name }: Pick<McpServer, 'name'>, tool: string): string {
	return providerName(`${name}_${tool}`);
}

/** What went wrong with a server, for its owner. Texts of the server are in `changed` only. */
export interface McpProblem {
	readonly server: string;
	/** `unreachable`, `login` (somebody has to log in), `changed` (definitions wait for acceptance) or `left_out`. */
	readonly code: 'unreachable' | 'login' | 'changed' | 'left_out' | 'cut';
	readonly message: string;
	/** The changed tools, by the server's own names. */
	readonly changed?: Readonly<Record<string, readonly Difference[]>>;
}

/** How a connection is made. */
export interface ConnectionOptions {
	/** Sends the requests as they are. The default checks each address (`publicFetch`): public names only. */
	readonly fetch?: typeof globalThis.fetch;
	/** Whether the server may be on this machine. Only a server that its author named there may reach it. */
	readonly allowLoopback?: boolean;
	/** Where accepted definitions are kept. The default is the memory of this connection. */
	readonly acceptance?: Acceptance;
	/** Texts that nothing which comes from the server may show, besides those of its secret headers. */
	readonly secrets?: readonly string[];
	/** Logs in to the server (OAuth 2.1). */
	readonly login?: McpLogin;
	/** Called with each problem. It must not throw. */
	readonly onProblem?: (problem: McpProblem) => void;
	/** Ends the connection. */
	readonly signal?: AbortSignal;
}

/** Metadata of a client, as login pages are told it (RFC 7591, section 2). */
export interface LoginClientMetadata {
	redirect_uris: string[];
	token_endpoint_auth_method?: string;
	grant_types?: string[];
	response_types?: string[];
	application_type?: string;
	client_name?: string;
	client_uri?: string;
	logo_uri?: string;
	scope?: string;
	contacts?: string[];
	tos_uri?: string;
	policy_uri?: string;
	jwks_uri?: string;
	jwks?: unknown;
	software_id?: string;
	software_version?: string;
	software_statement?: string;
}

/** A client that is known to an authorization server (RFC 7591, section 3.2.1). */
export interface LoginClient {
	client_id: string;
	client_secret?: string;
	client_id_issued_at?: number;
	client_secret_expires_at?: number;
	/** The authorization server that knows it. */
	issuer?: string;
}

/** Tokens (RFC 6749, section 5.1). */
export interface LoginTokens {
	access_token: string;
	token_type: string;
	id_token?: string;
	/** Seconds. */
	expires_in?: number;
	scope?: string;
	refresh_token?: string;
	/** The authorization server that gave them. */
	issuer?: string;
}

/** What was found of the authorization server of a server (RFC 9728). */
export interface LoginDiscovery {
	authorizationServerUrl: string;
	authorizationServerMetadata?: object;
	resourceMetadata?: object;
	resourceMetadataUrl?: string;
}

/** Which authorization server something belongs to. */
export interface LoginContext {
	issuer: string;
}

/**
 * A login to one server (OAuth 2.1 with PKCE), which keeps its client, its tokens and what it needs to come back from the
 * login page. It has the form of `OAuthClientProvider` of `@modelcontextprotocol/client`, so one of those is one of these.
 */
export interface McpLogin {
	/** Where the login page sends people back to. None if nobody is asked. */
	readonly redirectUrl: string | URL | undefined;
	/** Where the document of this client stands, if its address is its id. */
	readonly clientMetadataUrl?: string;
	readonly clientMetadata: LoginClientMetadata;
	/** Makes the state of a link, which comes back with the person. */
	state?(): string | Promise<string>;
	/** Returns the client, if it is registered with this authorization server. */
	clientInformation(context?: LoginContext): LoginClient | undefined | Promise<LoginClient | undefined>;
	/** Keeps the client. Without this it has to be registered before. */
	saveClientInformation?(client: LoginClient, context?: LoginContext): void | Promise<void>;
	/** Returns the tokens. With a context they are about to be refreshed; without one they are sent to the server. */
	tokens(context?: LoginContext): LoginTokens | undefined | Promise<LoginTokens | undefined>;
	saveTokens(tokens: LoginTokens, context?: LoginContext): void | Promise<void>;
	/** Sends a person to the login page. */
	redirectToAuthorization(page: URL): void | Promise<void>;
	saveCodeVerifier(verifier: string): void | Promise<void>;
	codeVerifier(): string | Promise<string>;
	/** Says who the client is in a request for tokens, in place of the usual ways. */
	addClientAuthentication?(
		headers: Headers,
		params: URLSearchParams,
		url: string | URL,
		metadata?: object,
	): void | Promise<void>;
	/** Returns the resource that the tokens are for (RFC 8707), in place of the usual check. */
	validateResourceURL?(serverUrl: string | URL, resource?: string): Promise<URL | undefined>;
	/** Returns the scope of a refresh. The default is none, which asks for the granted one. */
	scopeForRefresh?(tokens: LoginTokens): string | undefined | Promise<string | undefined>;
	/** Forgets what is no longer good. */
	invalidateCredentials?(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void | Promise<void>;
	/** Returns what a request for tokens is sent with, for other grants than that of a code. */
	prepareTokenRequest?(scope?: string): URLSearchParams | undefined | Promise<URLSearchParams | undefined>;
	/** Keeps what was found, as long as the verifier. */
	saveDiscoveryState?(discovery: LoginDiscovery): void | Promise<void>;
	discoveryState?(): LoginDiscovery | undefined | Promise<LoginDiscovery | undefined>;
}
