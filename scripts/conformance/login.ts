import type { OAuthClientInformationMixed, OAuthClientProvider, StoredOAuthTokens } from '@modelcontextprotocol/client';
import { finishLogin } from '../../src/core/mcp/index.ts';

/** A login in memory, with a browser that agrees to everything. */
export class BrowserLogin implements OAuthClientProvider {
	readonly redirectUrl = 'http://localhost:3000/callback';
	readonly clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
	readonly clientMetadata = {
		client_name: 'runlet',
		redirect_uris: ['http://localhost:3000/callback'],
		grant_types: ['authorization_code', 'refresh_token'],
		response_types: ['code'],
	};
	readonly #serverUrl: string;
	readonly #known: OAuthClientInformationMixed | undefined;
	readonly #clients = new Map<string, OAuthClientInformationMixed>();
	#tokens: StoredOAuthTokens | undefined;
	#verifier = '';
	#state = '';
	#page: URL | undefined;
	#discovery: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;

	/** @param known the client, if it is already registered */
	constructor(serverUrl: string, known?: OAuthClientInformationMixed) {
		this.#serverUrl = serverUrl;
		this.#known = known;
	}

	state(): string {
		this.#state = crypto.randomUUID();
		return this.#state;
	}

	clientInformation(about?: { readonly issuer?: string }): OAuthClientInformationMixed | undefined {
		return this.#known ?? this.#clients.get(about?.issuer ?? '');
	}

	saveClientInformation(client: OAuthClientInformationMixed, about?: { readonly issuer?: string }): void {
		this.#clients.set(about?.issuer ?? '', client);
	}

	tokens(): StoredOAuthTokens | undefined {
		return this.#tokens;
	}

	saveTokens(tokens: StoredOAuthTokens): void {
		this.#tokens = tokens;
	}

	redirectToAuthorization(page: URL): void {
		this.#page = page;
	}

	saveCodeVerifier(verifier: string): void {
		this.#verifier = verifier;
	}

	codeVerifier(): string {
		return this.#verifier;
	}

	saveDiscoveryState(state: NonNullable<typeof this.discoveryState extends () => infer State ? State : never>): void {
		this.#discovery = state;
	}

	discoveryState() {
		return this.#discovery;
	}

	invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
		if (scope === 'all' || scope === 'tokens') this.#tokens = undefined;
		if (scope === 'all' || scope === 'client') this.#clients.clear();
		if (scope === 'all' || scope === 'discovery') this.#discovery = undefined;
	}

	/** Opens the login page, and exchanges the returned code for tokens. */
	async logIn(): Promise<void> {
		if (this.#page === undefined) throw new Error('no login was asked for');
		const answer = await fetch(this.#page, { redirect: 'manual' });
		const back = new URL(answer.headers.get('location') ?? '');
		if (back.searchParams.get('state') !== this.#state) throw new Error('the state is another one');
		const server = { name: 'server', url: this.#serverUrl };
		await finishLogin(server, { login: this, query: back.searchParams, allowLoopback: true });
	}
}
