import type {
	OAuthClientInformationContext,
	OAuthClientMetadata,
	OAuthClientProvider,
	OAuthDiscoveryState,
	StoredOAuthClientInformation,
	StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { RunletError } from '../../../core/base/errors.ts';
import type { Config } from '../../config/config.ts';
import type { FoundServer } from '../servers/find.ts';
import { createClientMetadata, toCallbackUrl, toClientId } from './client-metadata.ts';
import { type BegunLogin, type LoginState, LoginStore } from './login-store.ts';
import { sealState } from './state.ts';

/** Milliseconds for which a link is valid. */
const linkMs = 3_600_000;

/** How many links of a login can be valid at once. */
const mostLinks = 20;

/** How many milliseconds other instances wait at most for a refresh of the tokens. */
const refreshMs = 20_000;

/** Milliseconds between two checks of a waiting instance. */
const lookMs = 200;

export interface LoginOptions {
	readonly config: Config;
	readonly server: FoundServer;
	/** The person who logs in. Missing for a login of the owner itself. */
	readonly user?: string;
	readonly session?: string;
	/** Whether a new login can begin. If not, only an existing login is used. */
	readonly mayBegin?: boolean;
	readonly begun?: BegunLogin;
}

/**
 * The login of an owner or a user, as the OAuth 2.1 provider for the protocol's client. If several sessions need new
 * tokens, one of them refreshes the tokens and the others use the result.
 */
export class OwnerLogin implements OAuthClientProvider {
	readonly #options: LoginOptions;
	readonly #store: LoginStore;
	readonly #by = crypto.randomUUID();
	#linkId = '';
	#verifier = '';
	#discovery: OAuthDiscoveryState | undefined;
	#link: URL | undefined;

	constructor(options: LoginOptions) {
		const { owner, name, url } = options.server;
		const { user } = options;
		this.#options = options;
		this.#store = new LoginStore(options.config, { owner, user, name, url });
	}

	get link(): URL | undefined {
		return this.#link;
	}

	get redirectUrl(): string {
		return toCallbackUrl(this.#options.config);
	}

	get clientMetadataUrl(): string | undefined {
		return toClientId(this.#options.config);
	}

	get clientMetadata(): OAuthClientMetadata {
		const { scopes } = this.#auth;
		const metadata = createClientMetadata(this.#options.config);
		return scopes === undefined ? metadata : { ...metadata, scope: scopes.join(' ') };
	}

	async state(): Promise<string> {
		const { owner, name } = this.#options.server;
		this.#linkId = crypto.randomUUID();
		return sealState(this.#options.config, { owner, user: this.#options.user, name, id: this.#linkId });
	}

	async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
		const { client, callback } = await this.#store.read();
		const { clientId } = this.#auth;
		// A stored registration is valid only for the callback address that it was made with.
		if (clientId === undefined) return callback === this.redirectUrl ? client : undefined;
		const { clientSecret } = await this.#options.server.openSecrets();
		return {
			...(client?.client_id === clientId && client),
			client_id: clientId,
			...(clientSecret !== undefined && { client_secret: clientSecret }),
		};
	}

	async saveClientInformation(information: StoredOAuthClientInformation): Promise<void> {
		const { client_secret: _, ...open } = information;
		// A client secret from the server's definition is not copied into the login.
		const kept = this.#auth.clientId === undefined ? information : open;
		await this.#store.change((state) => ({ ...state, client: { ...kept }, callback: this.redirectUrl }));
	}

	/** A `context` means that the client is about to refresh the tokens. Other instances wait for the refresh. */
	async tokens(context?: OAuthClientInformationContext): Promise<StoredOAuthTokens | undefined> {
		const state = await this.#store.read();
		const isRefreshed = context !== undefined && state.tokens?.refresh_token !== undefined;
		return (isRefreshed ? await this.#takeTurn() : state).tokens;
	}

	async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
		const { begun } = this.#options;
		await this.#store.change((state) => ({
			...state,
			tokens: { ...tokens },
			// A finished login makes all other login links invalid.
			begun: begun === undefined ? state.begun : [],
			refreshing: undefined,
		}));
	}

	async saveCodeVerifier(verifier: string): Promise<void> {
		this.#verifier = verifier;
	}

	async codeVerifier(): Promise<string> {
		const { begun } = this.#options;
		if (begun !== undefined) return begun.verifier;
		throw new RunletError('internal', 'This login did not come back from its page.');
	}

	async saveDiscoveryState(discovery: OAuthDiscoveryState): Promise<void> {
		this.#discovery = discovery;
	}

	async discoveryState(): Promise<OAuthDiscoveryState | undefined> {
		const discovery = this.#options.begun?.discovery;
		return discovery ?? this.#discovery;
	}

	/** Stores the data that is needed when the person returns from the login page. */
	async redirectToAuthorization(url: URL): Promise<void> {
		const { scopes } = this.#auth;
		if (scopes !== undefined) url.searchParams.set('scope', scopes.join(' '));
		const { session, server, mayBegin = true } = this.#options;
		if (!mayBegin)
			throw new RunletError(
				'forbidden',
				`${server.name}: this session may not log in for its owner. An admin does: POST /v1/mcp/${server.name}/login.`,
			);
		const now = Date.now();
		const begun: BegunLogin = {
			id: this.#linkId,
			verifier: this.#verifier,
			...(this.#discovery !== undefined && { discovery: { ...this.#discovery } }),
			...(session !== undefined && { session }),
			expiresAt: now + linkMs,
		};
		await this.#store.change((state) => ({
			...state,
			begun: [...state.begun.filter(({ expiresAt }) => expiresAt > now), begun].slice(-mostLinks),
			refreshing: undefined,
		}));
		this.#link = url;
	}

	async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
		if (scope === 'discovery' || scope === 'all') this.#discovery = undefined;
		if (scope === 'discovery' || scope === 'verifier') return;
		await this.#store.change((state) => ({
			...state,
			...((scope === 'all' || scope === 'client') && { client: undefined }),
			...((scope === 'all' || scope === 'tokens') && { tokens: undefined }),
			refreshing: undefined,
		}));
	}

	get #auth(): { readonly scopes?: readonly string[]; readonly clientId?: string } {
		const { auth } = this.#options.server;
		return typeof auth === 'object' ? auth : {};
	}

	/** Waits while another instance refreshes the tokens, and then reserves the refresh for this instance. */
	async #takeTurn(): Promise<LoginState> {
		for (;;) {
			const now = Date.now();
			let isMine = false;
			const state = await this.#store.change((before) => {
				const { refreshing } = before;
				isMine = refreshing === undefined || refreshing.by === this.#by || refreshing.until <= now;
				return isMine ? { ...before, refreshing: { by: this.#by, until: now + refreshMs } } : undefined;
			});
			if (isMine) return state;
			await new Promise((resolve) => setTimeout(resolve, lookMs));
		}
	}
}
