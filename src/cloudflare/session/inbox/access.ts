import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import type { Actor } from '../../../core/ground/actor.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { Agent } from '../../agent/define.ts';
import { findKeyId } from '../../auth/account.ts';
import { assertRight, findTokenScope, type Right, type TokenScope } from '../../auth/rights.ts';
import { makeTokenId, refuseToken, signToken, verifyToken } from '../../auth/token.ts';
import type { Config } from '../../config/config.ts';
import { assertInTime } from '../../objects/admission.ts';
import type { Caller, TokenRequest } from '../../objects/session-api.ts';
import type { Shown } from '../../wire/operation.ts';
import { defaultTokenScopes, type sessionToken, tokenSeconds } from '../../wire/token.ts';
import type { Lease } from '../events/follow.ts';
import { noSuchSession } from '../store/session-row.ts';
import { isWaiting } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import type { TokenRecord } from '../store/tokens.ts';

/** The rights of a caller in a session. */
export interface Pass {
	/** Who the caller is. Missing where a session passes on what somebody else said. */
	readonly by?: Actor;
	/** Throws `forbidden` if the caller does not have the right. */
	assert(right: Right): void;
	/** How long the caller may read a stream. Without it there is no limit. */
	readonly lease?: Lease;
	/** Whether the caller sees errors as an operator does (`showError`). */
	readonly isOperator: boolean;
}

/** Decides who may enter a session: people of its owner by their roles, and its tokens by their scopes. */
export class Access {
	readonly #store: SessionStore;
	readonly #config: () => Config;
	/** Whether the session is being removed, so that nobody may enter any more. */
	isClosed = false;
	/** Functions that wake the streams of a token, by its id. */
	readonly #streams = new Map<string, Set<() => void>>();

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
	}

	/** Whether the session exists and is not being removed. */
	get isThere(): boolean {
		return !this.isClosed && this.#store.exists();
	}

	/** Whether a session may be created here. */
	isMissing(): boolean {
		return !this.isClosed && !this.#store.exists() && !this.#store.isImporting;
	}

	/** Throws the error of an unknown session. */
	assertExists(): void {
		if (!this.isThere) throw noSuchSession();
	}

	/**
	 * Lets a caller in who has all these rights. Throws the error of an unknown session for a stranger, `auth` for a token
	 * that is no longer valid, `forbidden` for a caller without a right, and `overloaded` after the caller's deadline.
	 *
	 * @param agent the agent that a page names
	 */
	async open(caller: Caller, rights: readonly Right[], agent?: Agent['name']): Promise<Pass> {
		assertInTime(caller.deadline);
		this.assertExists();
		const pass = 'token' in caller ? await this.#findOpenWith(caller.token) : this.#findOpenFor(caller);
		if (agent !== undefined && agent !== this.#store.session().agent) throw noSuchSession();
		for (const right of rights) pass.assert(right);
		return pass;
	}

	/** Throws `conflict` for a session that works for another one, unless that one calls. */
	assertMayChange(caller: Caller): void {
		const { parent } = this.#store.session();
		if (parent === undefined || ('parent' in caller && caller.parent === parent.id)) return;
		const message = `This session works for the session ${parent.id}. Send, answer, cancel or delete there.`;
		throw new RunletError('conflict', message, { parent: parent.id });
	}

	/**
	 * Throws `conflict` as `assertMayChange`, but not where the session works in the background and waits for somebody: who
	 * may answer does so there, and nothing else.
	 */
	assertMayTakePart(caller: Caller): void {
		const isAsking = this.#store.session().parent?.isBackground === true && isWaiting(this.#store.status);
		if (!isAsking) this.assertMayChange(caller);
	}

	/** Lets in who may manage the session, to change it: one that works for another one is changed there. */
	async openForChange(caller: Caller): Promise<Pass> {
		const pass = await this.open(caller, ['manageSession']);
		this.assertMayChange(caller);
		return pass;
	}

	/**
	 * Returns the token of a new session, which is valid for a day after the creation. A repeated call returns the same
	 * token.
	 */
	async showFirstToken(by: Actor | undefined, holder?: string): Promise<Shown<typeof sessionToken>> {
		return this.#show(this.addFirstToken(by, holder));
	}

	/** Stores that token once. */
	addFirstToken(by: Actor | undefined, holder?: string): TokenRecord {
		const keyId = by === undefined ? '' : findKeyId(by);
		const now = toSeconds(Date.now());
		const first = this.#store.tokens.first(keyId, now);
		const since = Math.max(now, toSeconds(this.#store.session().createdAt));
		const made = { scopes: defaultTokenScopes, expiresAt: since + tokenSeconds, isFirst: true };
		return first ?? this.#add({ ...made, keyId, holder, madeBy: by });
	}

	/** Makes a token. It becomes invalid with the key. Throws `invalid_request` for a session of another user. */
	async makeToken(
		{ by }: Pass,
		{ expiresInSeconds = tokenSeconds, scopes = defaultTokenScopes, for: holder, user }: TokenRequest,
	) {
		this.assertUser(user);
		const keyId = by === undefined ? '' : findKeyId(by);
		const expiresAt = toSeconds(Date.now()) + expiresInSeconds;
		return this.#show(this.#add({ keyId, scopes, expiresAt, holder, madeBy: by, isFirst: false }));
	}

	/** Throws `invalid_request` for a request that names another user than the session's. */
	assertUser(user: string | undefined): void {
		const own = this.#store.session().user;
		if (user === undefined || user === own) return;
		const whose = own === undefined ? 'this session has no user' : 'this session belongs to another user';
		throw new RunletError('invalid_request', `user: ${whose}, and it never changes. Create a session for this one.`, {
			field: 'user',
		});
	}

	/** Revokes a token at once and ends the streams that it opened. */
	revokeToken(id: string): void {
		const wasThere = this.#store.tokens.remove(id);
		for (const wake of this.#streams.get(id) ?? []) wake();
		if (!wasThere)
			throw new RunletError('not_found', 'There is no such token: its time is over, or it was revoked before.');
	}

	#findOpenFor(caller: KeyCaller): Pass {
		const { owner, by, role, isAdmin } = caller;
		const session = this.#store.session();
		if (isAdmin === true) return { by, assert: () => {}, isOperator: true };
		if (owner !== session.owner) throw noSuchSession();
		// A customer sees sessions of their own only.
		if (role === 'customer' && by?.user !== session.user) throw noSuchSession();
		return { by, assert: (right) => role && assertRight(role, right), isOperator: role === 'admin' };
	}

	async #findOpenWith(token: string): Promise<Pass> {
		const { id, expiresAt } = await verifyToken(token, this.#store.tokenKey, Date.now());
		this.assertExists();
		await this.#refreshKey(id);
		this.assertExists();
		const left = () => expiresAt * 1_000 - Date.now();
		const ended = () => {
			if (left() <= 0) return refuseToken('has expired');
			// A reader of a removed session learns how its run ended.
			if (!this.#store.exists()) return undefined;
			const record = this.#store.tokens.get(id);
			if (record === undefined) return refuseToken('was revoked');
			// What is read now is for the next time that a stream asks.
			this.#refreshKey(id).catch(() => {});
			return this.#config().knowsKey(record.keyId) ? undefined : refuseToken('came from a key that was revoked');
		};
		const why = ended();
		if (why !== undefined) throw why;
		const record = this.#store.tokens.get(id);
		const { scopes = [], holder, keyId = '' } = record ?? {};
		const { owner, user: own } = this.#store.session();
		// One of an earlier version counts as the key that it ends with.
		const ofKey: Actor | undefined = keyId === '' ? undefined : { owner, via: 'key', id: keyId };
		const madeBy = record?.madeBy ?? ofKey;
		const user = holder ?? own ?? madeBy?.user;
		return {
			by: { owner, ...(user !== undefined && { user }), via: 'token', id, ...(madeBy && { madeBy }) },
			assert: (right) => assertScope(scopes, right),
			lease: { left, ended, watch: (wake) => this.#watch(id, wake) },
			isOperator: false,
		};
	}

	/** Reads the key that made a token, if it is a stored one and that was not done a moment ago. */
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

	#add(given: Omit<TokenRecord, 'id'>): TokenRecord {
		const record = { ...given, id: makeTokenId() };
		this.#store.transaction(() => {
			this.#store.tokens.add(record, toSeconds(Date.now()));
			this.#store.makeTokenKey();
		});
		return record;
	}

	async #show({ id, scopes, expiresAt }: TokenRecord): Promise<Shown<typeof sessionToken>> {
		const { id: session } = this.#store.session();
		const token = await signToken({ session, id, expiresAt }, this.#store.makeTokenKey());
		const tokenExpiresAt = new Date(expiresAt * 1_000).toISOString();
		return { token, tokenId: id, tokenScopes: scopes, tokenExpiresAt };
	}
}

type KeyCaller = Exclude<Caller, { readonly token: string }>;

function assertScope(scopes: readonly TokenScope[], right: Right): void {
	const scope = findTokenScope(right);
	if (scope === undefined)
		throw new RunletError('forbidden', 'A session token may not do this. Use an API key, which no page should hold.');
	if (scopes.includes(scope)) return;
	throw new RunletError(
		'forbidden',
		`This needs a token with the scope ${scope}; this one has ${scopes.join(', ')}. Ask whoever has the API key for one: POST /v1/sessions/:id/token with scopes.`,
		{ scope },
	);
}

function toSeconds(milliseconds: number): number {
	return Math.floor(milliseconds / 1_000);
}

/**
 * Returns the rights that answers to calls need. A decision about a call needs more than its result. Where nothing is
 * answered, the run that goes on is read.
 */
export function toAnswerRights(answers: readonly CallAnswer[]): readonly Right[] {
	if (answers.length === 0) return ['readSession'];
	const decisions = answers.filter((answer) => 'approve' in answer).length;
	return [
		...(decisions > 0 ? (['decide'] as const) : []),
		...(decisions < answers.length ? (['sendMessage'] as const) : []),
	];
}

/** Returns the right that an answer needs. A decision about the call of a child needs `decide`, and not `sendMessage`. */
export function toReplyRights({ asksForApproval }: { readonly asksForApproval: boolean }): readonly Right[] {
	return [asksForApproval ? 'decide' : 'sendMessage'];
}
