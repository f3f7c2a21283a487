import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { openSecrets, sealSecrets } from '../../agent/registered-secrets.ts';
import type { Config } from '../../config/config.ts';
import { askRegistry, toEntryName } from '../../objects/directory/registry.ts';
import type { loginHead } from '../servers/login-state.ts';

const optionalText = v.optional(v.string());

/** The client at the provider (RFC 7591). What else it was told is kept, too. */
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

/** What is known of the provider. */
const discovery = v.looseObject({ authorizationServerUrl: v.string(), resourceMetadataUrl: optionalText });

/** A login that was begun: its link was given out, and nobody came back yet. */
const begun = v.object({
	/** The single-use part of the link's `state`. */
	id: v.string(),
	verifier: v.string(),
	/** The authorization server of the link: what comes back must come from it. */
	discovery: v.optional(discovery),
	/** The session that waits for it. */
	session: v.optional(v.string()),
	/** In milliseconds since 1970. */
	expiresAt: v.number(),
});

const loginState = v.object({
	/** The address that the login is for. */
	url: v.string(),
	/** Who this Worker is at the provider. */
	client: v.optional(client),
	/** The callback with which it registered there. */
	callback: optionalText,
	tokens: v.optional(tokens),
	begun: v.array(begun),
	/** Who refreshes the tokens now, and until when others wait for it. */
	refreshing: v.optional(v.object({ by: v.string(), until: v.number() })),
});

/** The login of an owner to a server. */
export type LoginState = Readonly<v.InferOutput<typeof loginState>>;
export type BegunLogin = LoginState['begun'][number];

/** Whose login it is, and to what. */
export interface LoginPlace {
	readonly owner: string;
	/** The person who has logged in; the owner itself if it is missing. */
	readonly user?: string;
	/** The name of the server. */
	readonly name: string;
	readonly url: string;
}

/** The most logins of an owner, those of its users included. */
const mostLogins = 20_000;

/** How often a change is tried again that somebody else's came before. */
const mostTries = 20;

/** The most characters of a login. What a hostile provider sends must not fill the object. */
const longest = 200_000;

/**
 * The login of an owner or of one of its users to a server, sealed in the owner's registry. A login for another address under the same name reads
 * as none, so that its tokens are sent nowhere else.
 */
export class LoginStore {
	readonly #config: Config;
	readonly #place: LoginPlace;

	constructor(config: Config, place: LoginPlace) {
		this.#config = config;
		this.#place = place;
	}

	async read(): Promise<LoginState> {
		return (await this.#readVersion()).state;
	}

	/**
	 * Changes the login. Of two changes at once the second sees the first. `undefined` changes nothing.
	 *
	 * @param change may be called several times
	 */
	async change(change: (state: LoginState) => LoginState | undefined): Promise<LoginState> {
		for (let tries = 1; tries <= mostTries; tries++) {
			const { state, version } = await this.#readVersion();
			const next = change(state);
			if (next === undefined) return state;
			if (await this.#write(next, version)) return next;
		}
		throw new RunletError('overloaded', `The login to ${this.#place.name} is changed too often. Try again.`);
	}

	async #readVersion(): Promise<{ readonly state: LoginState; readonly version: string | undefined }> {
		const { owner, url } = this.#place;
		const name = toEntryName(this.#place);
		const entry = await askRegistry(this.#config.directories, owner, (one) => one.getEntry('mcp-login', name));
		const empty = { url, begun: [] };
		if (entry === undefined) return { state: empty, version: undefined };
		const opened = await openSecrets(this.#config, { owner, kind: 'mcp-login', name }, entry);
		const stored = opened?.login === undefined ? undefined : v.parse(loginState, JSON.parse(opened.login));
		const state = stored?.url === url ? stored : empty;
		return { state, version: entry.version };
	}

	async #write(state: LoginState, replaces: string | undefined): Promise<boolean> {
		const { owner, url } = this.#place;
		const name = toEntryName(this.#place);
		const login = JSON.stringify(state);
		if (login.length > longest)
			throw new RunletError('too_large', `The login to ${this.#place.name} has more than ${longest} characters.`);
		const about = { owner, kind: 'mcp-login', name } as const;
		const sealed = await sealSecrets(this.#config, about, { login });
		const head: v.InferOutput<typeof loginHead> = { url, isLoggedIn: state.tokens !== undefined };
		const { kind } = about;
		const change = { kind, name, definition: JSON.stringify(head), sealed, replaces, most: mostLogins };
		const outcome = await askRegistry(this.#config.directories, owner, (one) => one.putEntry(change));
		if (outcome === 'full')
			throw new RunletError('conflict', `There are ${mostLogins} logins, which is the most. Log out of one first.`);
		return outcome === 'stored';
	}
}
