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
