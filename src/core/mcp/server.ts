import { assertKnownFields } from '../base/check.ts';
import { RunletError } from '../base/errors.ts';
import { providerName } from '../tool/index.ts';
import type { Acceptance, Difference } from './acceptance.ts';

/** A server of the Model Context Protocol, over streamable HTTP, whose tools an agent may call. */
export interface McpServer {
	/** The prefix of the tools: `NAME_TOOL`. 1 to 40 letters, digits, `_` and `-`. */
	readonly name: string;
	readonly url: string;
	/** Headers of the requests to this server. */
	readonly headers?: Readonly<Record<string, string>>;
	/** The offered tools, by the server's own names. The default is all tools. */
	readonly allow?: readonly string[];
	/** Whether each call needs a person's approval, or the names of the tools whose calls need approval. */
	readonly needsApproval?: boolean | readonly string[];
	/** The tools whose calls are safe to run again after a crash. Hints of the server are ignored. */
	readonly safe?: readonly string[];
	/** Milliseconds for a call, restarted by each progress message. The default is 60,000. */
	readonly timeoutMs?: number;
}

const fields = ['name', 'url', 'headers', 'allow', 'needsApproval', 'safe', 'timeoutMs'];

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

/** Returns the name of a tool for models: `NAME_TOOL` if providers accept it, else a readable name with a hash. */
export function createToolName({ name }: Pick<McpServer, 'name'>, tool: string): string {
	return providerName(`${name}_${tool}`);
}

/** A problem with a server, for its owner. Only `changed` has texts of the server. */
export interface McpProblem {
	readonly server: string;
	/** `unreachable`, `login` (somebody has to log in), `changed` (definitions wait for acceptance) or `left_out`. */
	readonly code: 'unreachable' | 'login' | 'changed' | 'left_out' | 'cut';
	readonly message: string;
	/** The differences of changed tools, by the server's own names. */
	readonly changed?: Readonly<Record<string, readonly Difference[]>>;
}

/** The options of a connection. */
export interface ConnectionOptions {
	/** Sends the requests unchecked. The default allows public names only (`publicFetch`). */
	readonly fetch?: typeof globalThis.fetch;
	/** Whether a server on this machine is allowed. */
	readonly allowLoopback?: boolean;
	/** The store of accepted definitions. The default is the memory of this connection. */
	readonly acceptance?: Acceptance;
	/** Texts that are removed, like the secret headers, from everything that the server sends. */
	readonly secrets?: readonly string[];
	/** Logs in to the server (OAuth 2.1). */
	readonly login?: McpLogin;
	/** Called with each problem. Must not throw. */
	readonly onProblem?: (problem: McpProblem) => void;
	/** Ends the connection. */
	readonly signal?: AbortSignal;
}

/** The metadata of a client (RFC 7591, section 2). */
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

/** A registered client (RFC 7591, section 3.2.1). */
export interface LoginClient {
	client_id: string;
	client_secret?: string;
	client_id_issued_at?: number;
	client_secret_expires_at?: number;
	/** The authorization server that registered the client. */
	issuer?: string;
}

/** Tokens (RFC 6749, section 5.1). */
export interface LoginTokens {
	access_token: string;
	token_type: string;
	id_token?: string;
	/** The lifetime of the access token in seconds. */
	expires_in?: number;
	scope?: string;
	refresh_token?: string;
	/** The authorization server that issued the tokens. */
	issuer?: string;
}

/** The discovered authorization server (RFC 9728). */
export interface LoginDiscovery {
	authorizationServerUrl: string;
	authorizationServerMetadata?: object;
	resourceMetadata?: object;
	resourceMetadataUrl?: string;
}

/** The authorization server of a client or of tokens. */
export interface LoginContext {
	issuer: string;
}

/**
 * A login to one server (OAuth 2.1 with PKCE). The login stores its client, its tokens and the state of an open
 * login. Every `OAuthClientProvider` of `@modelcontextprotocol/client` is a valid login.
 */
export interface McpLogin {
	/** The return address of the login page. Missing for a login without a person. */
	readonly redirectUrl: string | URL | undefined;
	/** The address of the client's metadata document, if this address is the client's id. */
	readonly clientMetadataUrl?: string;
	readonly clientMetadata: LoginClientMetadata;
	/** Creates the `state` of a link, which the return address repeats. */
	state?(): string | Promise<string>;
	/** Returns the client, if it is registered with this authorization server. */
	clientInformation(context?: LoginContext): LoginClient | undefined | Promise<LoginClient | undefined>;
	/** Stores the client. Without this function the client has to be registered in advance. */
	saveClientInformation?(client: LoginClient, context?: LoginContext): void | Promise<void>;
	/** Returns the tokens. Gets a context for a refresh, and no context for a request to the server. */
	tokens(context?: LoginContext): LoginTokens | undefined | Promise<LoginTokens | undefined>;
	saveTokens(tokens: LoginTokens, context?: LoginContext): void | Promise<void>;
	redirectToAuthorization(page: URL): void | Promise<void>;
	saveCodeVerifier(verifier: string): void | Promise<void>;
	codeVerifier(): string | Promise<string>;
	/** Authenticates the client in a token request, instead of the default methods. */
	addClientAuthentication?(
		headers: Headers,
		params: URLSearchParams,
		url: string | URL,
		metadata?: object,
	): void | Promise<void>;
	/** Returns the resource of the tokens (RFC 8707), instead of the default check. */
	validateResourceURL?(serverUrl: string | URL, resource?: string): Promise<URL | undefined>;
	/** Returns the scope of a refresh. Without a scope, the refresh keeps the granted scope. */
	scopeForRefresh?(tokens: LoginTokens): string | undefined | Promise<string | undefined>;
	invalidateCredentials?(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void | Promise<void>;
	/** Returns the parameters of a token request for grants other than the authorization code. */
	prepareTokenRequest?(scope?: string): URLSearchParams | undefined | Promise<URLSearchParams | undefined>;
	/** Stores the discovery for as long as the verifier is stored. */
	saveDiscoveryState?(discovery: LoginDiscovery): void | Promise<void>;
	discoveryState?(): LoginDiscovery | undefined | Promise<LoginDiscovery | undefined>;
}
