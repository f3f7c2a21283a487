import type { Actor } from '../../../core/base/actor.ts';
import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import type { Agent } from '../../agent/define.ts';
import { findKeyId } from '../../auth/account.ts';
import { assertMay, type Granted, type Right } from '../../auth/rights.ts';
import { makeTokenId, refuseToken, signToken, verifyToken } from '../../auth/token.ts';
import type { Config } from '../../config/config.ts';
import { assertInTime } from '../../objects/admission.ts';
import type { Caller, TokenRequest } from '../../objects/session-api.ts';
import type { Shown } from '../../wire/operation.ts';
import { defaultTokenScopes, type sessionToken, tokenSeconds } from '../../wire/token.ts';
import type { Lease } from '../events/follow.ts';
import { noSuchSession, type SessionRecord } from '../store/session-row.ts';
import { isWaiting } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import type { TokenRecord } from '../store/tokens.ts';

export interface Principal extends Granted {
	/** A child session has no actor of its own. */
	readonly by?: Actor;
	readonly lease?: Lease;
	/** Whether the caller sees errors like an operator (`showError`). */
	readonly isOperator: boolean;
}

/** Authorizes callers: people of the session's owner by their roles, and holders of its tokens by their scopes. */
export class Authorization {
	readonly tokens: SessionTokens;
	readonly #store: SessionStore;
	/** Whether the session is being removed. */
	isClosed = false;

	constructor(store: SessionStore, config: () => Config) {
		this.tokens = new SessionTokens(store, config);
		this.#store = store;
	}

	/** Whether the session exists and is not being removed. */
	get isThere(): boolean {
		return !this.isClosed && this.#store.exists();
	}

	isMissing(): boolean {
		return !this.isClosed && !this.#store.exists() && !this.#store.isImporting;
	}

	assertExists(): void {
		if (!this.isThere) throw noSuchSession();
	}

	/**
	 * Authorizes a caller who has all these rights. Throws the error of an unknown session for a stranger, `auth` for an
	 * invalid token, `forbidden` for a caller without a right, and `overloaded` after the caller's deadline.
	 *
	 * @param agent the agent that a page names
	 */
	async open(caller: Caller, rights: readonly Right[], agent?: Agent['name']): Promise<Principal> {
		assertInTime(caller.deadline);
		this.assertExists();
		const principal =
			'token' in caller
				? await this.tokens.verify(caller.token, () => this.assertExists())
				: this.#findPrincipal(caller);
		if (agent !== undefined && agent !== this.#store.session().agent) throw noSuchSession();
		for (const right of rights) assertMay(principal, right);
		return principal;
	}

	/** Throws `conflict` for a child session, unless its parent calls. */
	assertMayChange(caller: Caller, { parent }: Pick<SessionRecord, 'parent'> = this.#store.session()): void {
		if (parent === undefined || ('parent' in caller && caller.parent === parent.id)) return;
		const message = `This session works for the session ${parent.id}. Send, answer, cancel or delete there.`;
		throw new RunletError('conflict', message, { parent: parent.id });
	}

	/** Throws like `assertMayChange`, except for a background session that waits for somebody: people answer there. */
	assertMayTakePart(caller: Caller): void {
		const session = this.#store.session();
		const isAsking = session.parent?.isBackground === true && isWaiting(this.#store.status);
		if (!isAsking) this.assertMayChange(caller, session);
	}

	/** Authorizes a caller to manage the session. Only its parent changes a child session. */
	async openForChange(caller: Caller): Promise<Principal> {
		const principal = await this.open(caller, ['manageSession']);
		this.assertMayChange(caller);
		return principal;
	}

	#findPrincipal({ owner, by, role, isAdmin }: Exclude<Caller, { readonly token: string }>): Principal {
		const session = this.#store.session();
		if (isAdmin === true) return { by, isOperator: true };
		if (owner !== session.owner) throw noSuchSession();
		// A customer sees only sessions of their own.
		if (role === 'customer' && by?.user !== session.user) throw noSuchSession();
		return { by, role, isOperator: role === 'admin' };
	}
}

/** Returns the rights that answers to calls need. Without answers, the request only reads the current run. */
export function toAnswerRights(answers: readonly CallAnswer[]): readonly Right[] {
	if (answers.length === 0) return ['readSession'];
	const decisions = answers.filter((answer) => 'approve' in answer).length;
	return [
		...(decisions > 0 ? (['decide'] as const) : []),
		...(decisions < answers.length ? (['sendMessage'] as const) : []),
	];
}

type ShownToken = Shown<typeof sessionToken>;

export class SessionTokens {
	readonly #store: SessionStore;
	readonly #config: () => Config;
	readonly #streams = new Map<string, Set<() => void>>();

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
	}

	/** Returns the first token of a session, which is valid for a day after the creation. */
	async showFirst(by: Actor | undefined, holder?: string): Promise<ShownToken> {
		return this.#show(this.addFirst(by, holder));
	}

	/** Stores the first token of a key. A repeated call returns the same token. */
	addFirst(by: Actor | undefined, holder?: string): TokenRecord {
		const keyId = by === undefined ? '' : findKeyId(by);
		const now = toSeconds(Date.now());
		const first = this.#store.tokens.first(keyId, now);
		const since = Math.max(now, toSeconds(this.#store.session().createdAt));
		const made = { scopes: defaultTokenScopes, expiresAt: since + tokenSeconds, isFirst: true };
		return first ?? this.#add({ ...made, keyId, holder, madeBy: by });
	}

	/** Makes a token, which ends with its key. Throws `invalid_request` for a session of another user. */
	async make(
		{ by }: { readonly by?: Actor },
		{ expiresInSeconds = tokenSeconds, scopes = defaultTokenScopes, for: holder, user }: TokenRequest,
	): Promise<ShownToken> {
		this.#assertUser(user);
		const keyId = by === undefined ? '' : findKeyId(by);
		const expiresAt = toSeconds(Date.now()) + expiresInSeconds;
		return this.#show(this.#add({ keyId, scopes, expiresAt, holder, madeBy: by, isFirst: false }));
	}

	/** Revokes a token at once and ends the streams that it opened. */
	revoke(id: string): void {
		const wasThere = this.#store.tokens.remove(id);
		for (const wake of this.#streams.get(id) ?? []) wake();
		if (!wasThere)
			throw new RunletError('not_found', 'There is no such token: its time is over, or it was revoked before.');
	}

	/**
	 * Returns the holder of a token, and its scopes. Throws `auth` for an invalid token, `not_found` for a removed
	 * session.
	 */
	async verify(token: string, assertExists: () => void) {
		const { id, expiresAt } = await verifyToken(token, this.#store.tokenKey, Date.now());
		assertExists();
		await this.#refreshKey(id);
		assertExists();
		const left = () => expiresAt * 1_000 - Date.now();
		const ended = () => {
			if (left() <= 0) return refuseToken('has expired');
			// A reader of a removed session gets the end of its run.
			if (!this.#store.exists()) return undefined;
			const record = this.#store.tokens.get(id);
			if (record === undefined) return refuseToken('was revoked');
			// The next check of the stream uses the refreshed key.
			this.#refreshKey(id).catch(() => {});
			return this.#config().knowsKey(record.keyId) ? undefined : refuseToken('came from a key that was revoked');
		};
		const why = ended();
		if (why !== undefined) throw why;
		const record = this.#store.tokens.get(id);
		if (record === undefined) throw noSuchSession();
		const { scopes, holder, keyId } = record;
		const { owner, user: own } = this.#store.session();
		const ofKey: Actor | undefined = keyId === '' ? undefined : { owner, via: 'key', id: keyId };
		const madeBy = record.madeBy ?? ofKey;
		const user = holder ?? own ?? madeBy?.user;
		const by: Actor = { owner, ...(user !== undefined && { user }), via: 'token', id, ...(madeBy && { madeBy }) };
		const lease: Lease = { left, ended, watch: (wake) => this.#watch(id, wake) };
		return { by, scopes, lease, isOperator: false };
	}

	#assertUser(user: string | undefined): void {
		const own = this.#store.session().user;
		if (user === undefined || user === own) return;
		const whose = own === undefined ? 'this session has no user' : 'this session belongs to another user';
		throw createFieldError('invalid_request', 'user', `${whose}, and it never changes. Create a session for this one.`);
	}

	/** Reads the key of a token, if it is a stored key that was not read lately. */
	async #refreshKey(tokenId: string): Promise<void> {
		const { storedKeys } = this.#config();
		const keyId = storedKeys && this.#store.tokens.get(tokenId)?.keyId;
		if (keyId !== undefined) await storedKeys?.refreshKey(keyId);
	}

	#watch(id: string, wake: () => void): () => void {
		const streams = this.#streams.get(id) ?? new Set();
		this.#streams.set(id, streams.add(wake));
		return () => {
			streams.delete(wake);
			if (streams.size === 0 && this.#streams.get(id) === streams) this.#streams.delete(id);
		};
	}

	#add(token: Omit<TokenRecord, 'id'>): TokenRecord {
		const record = { ...token, id: makeTokenId() };
		this.#store.transaction(() => this.#store.tokens.add(record, toSeconds(Date.now())));
		return record;
	}

	async #show({ id, scopes, expiresAt }: TokenRecord): Promise<ShownToken> {
		const { id: session } = this.#store.session();
		const token = await signToken({ session, id, expiresAt }, this.#store.tokenKey);
		const tokenExpiresAt = new Date(expiresAt * 1_000).toISOString();
		return { token, tokenId: id, tokenScopes: scopes, tokenExpiresAt };
	}
}

function toSeconds(milliseconds: number): number {
	return Math.floor(milliseconds / 1_000);
}
