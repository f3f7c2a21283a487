import type { Actor } from '../../../core/base/actor.ts';
import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import { type CallAnswer, findOpenAnswers } from '../../../core/chat/call-answers.ts';
import type { Message } from '../../../core/chat/index.ts';
import { type AskedCall, findAskedCall } from '../../agent/child-decision.ts';
import type { Agent } from '../../agent/define.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { findKeyId } from '../../auth/identity.ts';
import { assertMay, type Granted, type Right } from '../../auth/rights.ts';
import { makeTokenId, refuseToken, signToken, verifyToken } from '../../auth/token.ts';
import type { Config } from '../../config/config.ts';
import { assertRoom } from '../../objects/budget.ts';
import type { Once } from '../../objects/once.ts';
import { assertInTime } from '../../objects/reach.ts';
import type { Caller, Input, RequestOrigin, TokenRequest } from '../../objects/session-api.ts';
import type { Shown } from '../../wire/operation.ts';
import { defaultTokenScopes, type sessionToken, tokenSeconds } from '../../wire/token.ts';
import type { Lease } from '../events/follow.ts';
import { createLease, Revocations } from '../events/token-lease.ts';
import type { BeginOptions } from '../run/begin.ts';
import { createPastRun, type LiveRun, type Work } from '../run/run.ts';
import type { Runner } from '../run/runner.ts';
import { findPending, type Pending } from '../store/calls.ts';
import { type Outcome, toInbound } from '../store/inbound.ts';
import {
	assertAllowed,
	isWaiting,
	noSuchSession,
	type Operation,
	type SessionRecord,
	type Status,
} from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import type { TokenRecord } from '../store/tokens.ts';
import { assertFunds, type KnownFunds, type ModelRequest } from './funds.ts';

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
	 * Authorizes a caller who has all these rights. Throws `auth` for an invalid token, `forbidden` for a caller
	 * without a right, and `overloaded` after the caller's deadline. For a stranger the session does not exist.
	 * @param agent the agent that a page names
	 */
	async open(caller: Caller, rights: readonly Right[], agent?: Agent['name']): Promise<Principal> {
		assertInTime(caller.deadline);
		this.assertExists();
		const principal =
			'token' in caller
				? await this.tokens.verify(caller.token, () => this.assertExists())
				: this.findPrincipal(caller);
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

	/** Authorizes a caller to manage the session. A child session accepts changes only from its parent. */
	async openForChange(caller: Caller): Promise<Principal> {
		const principal = await this.open(caller, ['manageSession']);
		this.assertMayChange(caller);
		return principal;
	}

	/** Finds a person of the session's owner. Throws `not_found` for anybody else. */
	findPrincipal(
		{ owner, by, role, isAdmin }: Exclude<Caller, { readonly token: string }>,
		session: Pick<SessionRecord, 'owner' | 'user' | 'rerun'> = this.#store.session(),
	): Principal {
		if (isAdmin === true) return { by, isOperator: true };
		if (owner !== session.owner) throw noSuchSession();
		// A customer sees only sessions of their own, and no branch in which staff run a message again.
		const isTheirs = by?.user === session.user && session.rerun === undefined;
		if (role === 'customer' && !isTheirs) throw noSuchSession();
		return { by, role, isOperator: role === 'admin' };
	}
}

/** Returns the rights that answers to calls need. A request without answers only reads the current run. */
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
	readonly revocations = new Revocations();
	readonly #store: SessionStore;
	readonly #config: () => Config;

	constructor(store: SessionStore, config: () => Config) {
		this.#store = store;
		this.#config = config;
	}

	/** Returns the first token of a session. The token is valid for a day. */
	async showFirst(by: Actor | undefined, holder?: string): Promise<ShownToken> {
		return this.#show(this.addFirst(by, holder));
	}

	/** Stores the session's first token for the caller's key. A repeated call returns the same token. */
	addFirst(by: Actor | undefined, holder?: string): TokenRecord {
		const keyId = by === undefined ? '' : findKeyId(by);
		const now = toSeconds(Date.now());
		const first = this.#store.tokens.first(keyId, now);
		const since = Math.max(now, toSeconds(this.#store.session().createdAt));
		const made = { scopes: defaultTokenScopes, expiresAt: since + tokenSeconds, isFirst: true };
		return first ?? this.#add({ ...made, keyId, holder, madeBy: by });
	}

	/** Makes a token, which ends when its key ends. Throws `invalid_request` if the session has another user. */
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
		if (!wasThere)
			throw new RunletError('not_found', 'There is no such token: its time is over, or it was revoked before.');
		this.revocations.add(id);
	}

	/**
	 * Returns the holder of a token, and the scopes of the token. Throws `auth` for an invalid token, and
	 * `not_found` for a removed session.
	 */
	async verify(token: string, assertExists: () => void) {
		const { id, expiresAt } = await verifyToken(token, this.#store.tokenKey, Date.now());
		assertExists();
		const record = this.#store.tokens.get(id);
		if (record === undefined) throw refuseToken('was revoked');
		const { scopes, holder, keyId } = record;
		await this.#config().storedKeys?.refreshKey(keyId);
		assertExists();
		const lease = createLease({ id, keyId, expiresAt }, this.#config, this.revocations);
		const why = lease.ended();
		if (why !== undefined) throw why;
		const { owner, user: own } = this.#store.session();
		const ofKey: Actor | undefined = keyId === '' ? undefined : { owner, via: 'key', id: keyId };
		const madeBy = record.madeBy ?? ofKey;
		const user = holder ?? own ?? madeBy?.user;
		const by: Actor = { owner, ...(user !== undefined && { user }), via: 'token', id, ...(madeBy && { madeBy }) };
		return { by, scopes, lease, isOperator: false };
	}

	#assertUser(user: string | undefined): void {
		const own = this.#store.session().user;
		if (user === undefined || user === own) return;
		const whose = own === undefined ? 'this session has no user' : 'this session belongs to another user';
		throw createFieldError('invalid_request', 'user', `${whose}, and it never changes. Create a session for this one.`);
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

export interface InboxContext {
	readonly id: string;
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly authorization: Authorization;
	readonly runtime: Runtime;
	readonly config: () => Config;
}

/** The run that a waiting message will begin or steer. */
export interface UpcomingRun {
	readonly record: { readonly n: number; readonly id: string };
	readonly begun: Promise<LiveRun>;
}

/** What a request has stored. After the commit a run begins, or the owner's directory gets the change. */
export type StoreResult =
	| { readonly type: 'run'; readonly work: Work }
	/** The request gets an earlier or a waiting run. `run` is missing if there is none. */
	| { readonly type: 'join'; readonly run?: LiveRun | UpcomingRun }
	| { readonly type: 'change' }
	/** The current run has to be cancelled. Then the request is tried again. */
	| { readonly type: 'cancel' };

export interface OpenedRequest {
	readonly caller: Caller;
	readonly principal: Principal;
	readonly config: Config;
	readonly once?: Once;
	readonly origin?: RequestOrigin;
	readonly funds?: KnownFunds;
	/** The turn of the calls whose edited arguments were checked. */
	readonly checkedIn?: number;
}

export class InboxTransaction {
	readonly context: InboxContext;
	readonly opened: OpenedRequest;
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly session: SessionRecord;
	readonly status: Status;
	#pending: Pending | undefined;
	#isAllowed = false;
	#asksModel = false;

	constructor(context: InboxContext, opened: OpenedRequest) {
		this.context = context;
		this.opened = opened;
		this.store = context.store;
		this.runner = context.runner;
		this.session = context.store.session();
		this.status = context.store.status;
	}

	/** The caller. A child session has no actor of its own. */
	get by(): Actor | undefined {
		return this.opened.principal.by;
	}

	get pending(): Pending {
		this.#pending ??= findPending(this.store);
		return this.#pending;
	}

	/** The child's call that the session now asks people to approve. */
	get askedCall(): AskedCall | undefined {
		return this.status === 'awaiting_user' ? findAskedCall(this.pending.question) : undefined;
	}

	findOpenAnswers(answers: readonly CallAnswer[]): readonly CallAnswer[] {
		return this.status === 'awaiting_tools' ? findOpenAnswers(this.pending.calls, answers) : [];
	}

	/**
	 * Throws if the status does not allow the operation, if the caller may not perform the operation, or if a budget or
	 * the storage is used up. An operation calls this before it stores anything.
	 * @param asked the request to a model. Missing for an answer to a call, which is stored even if budget and storage
	 * are used up.
	 */
	allow(operation: Operation | undefined, asked?: ModelRequest): void {
		this.#isAllowed = true;
		const isReply = operation === 'reply' || operation === 'answer';
		const { caller, principal, config, funds } = this.opened;
		// In a child session, a queued or replaced message would run after the parent got the final report.
		if (!isReply && operation !== 'submit') this.context.authorization.assertMayChange(caller, this.session);
		const calls = this.status === 'awaiting_tools' ? this.pending.calls : undefined;
		if (operation !== undefined) assertAllowed(this.status, operation, calls);
		if (isReply && this.askedCall !== undefined) assertMay(principal, 'decide');
		if (asked === undefined) return;
		this.#asksModel = true;
		assertFunds({ ...this.context, session: this.session, config }, asked, funds);
		this.#assertRoom();
	}

	/** Throws if the operation stored more than the session may hold, or was not allowed. The transaction rolls back. */
	finish(): void {
		if (!this.#isAllowed) this.context.authorization.assertMayChange(this.opened.caller, this.session);
		if (this.#asksModel) this.#assertRoom();
	}

	storeRun(messages: readonly Message[], options: Omit<BeginOptions, 'once' | 'origin'> = {}): StoreResult {
		const { once, origin, config } = this.opened;
		return { type: 'run', work: this.runner.storeRun(messages, { ...options, once, origin }, config) };
	}

	noteAccepted(): void {
		const { once } = this.opened;
		if (once !== undefined) this.store.deliveries.add(once, {}, Date.now());
	}

	toInbound(input: Input): ReturnType<typeof toInbound> {
		return toInbound(input, this.session, { from: this.by, ...this.opened.origin });
	}

	joinWaiting({ id, runId }: { readonly id: number; readonly runId: string }, n = 0): StoreResult {
		return { type: 'join', run: { record: { n, id: runId }, begun: this.runner.waiting.wait(id) } };
	}

	/** Returns the run of an earlier request: a live run, a stored run, or the run of its queued message. */
	join({ run, waiting }: Outcome): StoreResult {
		const waits = waiting === undefined ? undefined : this.store.queue.get(waiting);
		if (waits !== undefined) return this.joinWaiting(waits);
		const { live } = this.runner;
		if (run === undefined) return { type: 'join' };
		return { type: 'join', run: live?.record.n === run ? live : createPastRun(this.store, run) };
	}

	#assertRoom(): void {
		assertRoom('session', this.opened.config.roomLimits, this.store.bytes);
	}
}
