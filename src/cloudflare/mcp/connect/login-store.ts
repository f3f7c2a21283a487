import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { openSecrets, sealSecrets } from '../../agent/registered-secrets.ts';
import type { Config } from '../../config/config.ts';
import { askRegistry, changeEntry, type Entry, toEntryName } from '../../objects/directory/registry.ts';
import type { loginHead } from '../servers/find.ts';

const optionalText = v.optional(v.string());

/** This Worker's registration as a client of the provider (RFC 7591). The provider can add fields. */
const client = v.looseObject({
	client_id: v.string(),
	client_secret: optionalText,
	issuer: optionalText,
});

/** The tokens (RFC 6749). */
const tokens = v.looseObject({
	access_token: v.string(),
	token_type: v.string(),
	id_token: optionalText,
	expires_in: v.optional(v.number()),
	scope: optionalText,
	refresh_token: optionalText,
	issuer: optionalText,
});

const discovery = v.looseObject({ authorizationServerUrl: v.string(), resourceMetadataUrl: optionalText });

const begun = v.object({
	/** The single-use part of the link's `state`. */
	id: v.string(),
	verifier: v.string(),
	/** The authorization server of the link. The answer must come from this server. */
	discovery: v.optional(discovery),
	session: v.optional(v.string()),
	/** Milliseconds since 1970. */
	expiresAt: v.number(),
});

const loginState = v.object({
	/** The address of the server. */
	url: v.string(),
	/** This Worker's registration as a client of the provider. */
	client: v.optional(client),
	callback: optionalText,
	tokens: v.optional(tokens),
	begun: v.array(begun),
	/** The instance that is refreshing the tokens, and the time until which other instances wait. */
	refreshing: v.optional(v.object({ by: v.string(), until: v.number() })),
});

export type LoginState = Readonly<v.InferOutput<typeof loginState>>;
export type BegunLogin = LoginState['begun'][number];

export interface LoginPlace {
	readonly owner: string;
	/** The person who logs in. Missing for a login of the owner itself. */
	readonly user?: string;
	readonly name: string;
	readonly url: string;
}

/** How many logins an owner and its users can have in total. */
const mostLogins = 20_000;

/** The maximum length of a login, so that a hostile provider cannot fill the object. */
const longest = 200_000;

/**
 * The login of an owner, or of a user of the owner, to a server. It is sealed in the owner's registry. A login for
 * another address is ignored, so that tokens are sent only to their own server.
 */
export class LoginStore {
	readonly #config: Config;
	readonly #place: LoginPlace;
	readonly #entry: { readonly owner: string; readonly kind: 'mcp-login'; readonly name: string };

	constructor(config: Config, place: LoginPlace) {
		this.#config = config;
		this.#place = place;
		this.#entry = { owner: place.owner, kind: 'mcp-login', name: toEntryName(place) };
	}

	async read(): Promise<LoginState> {
		const { owner, kind, name } = this.#entry;
		return this.#open(await askRegistry(this.#config.directories, owner, (one) => one.getEntry(kind, name)));
	}

	/** Stores the result of `change`, unless it is undefined. If another change comes first, calls `change` again. */
	async change(change: (state: LoginState) => LoginState | undefined): Promise<LoginState> {
		const place = { ...this.#entry, most: mostLogins };
		let state: LoginState = emptyLogin(this.#place);
		await changeEntry(this.#config.directories, place.owner, place, async (entry) => {
			const before = await this.#open(entry);
			const next = change(before);
			state = next ?? before;
			return next && this.#seal(next);
		});
		return state;
	}

	async #open(entry: Entry | undefined): Promise<LoginState> {
		const opened = entry && (await openSecrets(this.#config, this.#entry, entry));
		const stored = opened?.login === undefined ? undefined : v.parse(loginState, JSON.parse(opened.login));
		return stored?.url === this.#place.url ? stored : emptyLogin(this.#place);
	}

	async #seal(state: LoginState) {
		const { url } = this.#place;
		const login = JSON.stringify(state);
		if (login.length > longest)
			throw new RunletError('too_large', `The login to ${this.#place.name} has more than ${longest} characters.`);
		const head: v.InferOutput<typeof loginHead> = { url, isLoggedIn: state.tokens !== undefined };
		return { definition: JSON.stringify(head), sealed: await sealSecrets(this.#config, this.#entry, { login }) };
	}
}

function emptyLogin({ url }: LoginPlace): LoginState {
	return { url, begun: [] };
}
