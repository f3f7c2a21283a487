import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import type { Agent } from '../../agent/define.ts';
import { assertMay, type Granted, type Right } from '../../auth/rights.ts';
import type { Config } from '../../config/config.ts';
import { assertInTime } from '../../objects/admission.ts';
import type { Caller } from '../../objects/session-api.ts';
import type { Lease } from '../events/follow.ts';
import { noSuchSession } from '../store/session-row.ts';
import { isWaiting } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { SessionTokens } from './tokens.ts';

/** A caller whom the session has let in, with their role or the scopes of their token. */
export interface Principal extends Granted {
	/** A child session has no actor of its own. */
	readonly by?: Actor;
	/** How long the caller may read a stream. Without it there is no limit. */
	readonly lease?: Lease;
	/** Whether the caller sees errors as an operator does (`showError`). */
	readonly isOperator: boolean;
}

/** Decides who may open a session: people of its owner by their roles, and the holders of its tokens by their scopes. */
export class Authorization {
	readonly tokens: SessionTokens;
	readonly #store: SessionStore;
	/** Whether the session is being removed, so that nobody may open it any more. */
	isClosed = false;

	constructor(store: SessionStore, config: () => Config) {
		this.tokens = new SessionTokens(store, config);
		this.#store = store;
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

	/** Lets in who may manage the session, to change it: a child session is changed by its parent only. */
	async openForChange(caller: Caller): Promise<Principal> {
		const principal = await this.open(caller, ['manageSession']);
		this.assertMayChange(caller);
		return principal;
	}

	#findPrincipal({ owner, by, role, isAdmin }: Exclude<Caller, { readonly token: string }>): Principal {
		const session = this.#store.session();
		if (isAdmin === true) return { by, isOperator: true };
		if (owner !== session.owner) throw noSuchSession();
		// A customer sees sessions of their own only.
		if (role === 'customer' && by?.user !== session.user) throw noSuchSession();
		return { by, role, isOperator: role === 'admin' };
	}
}

/**
 * Returns the rights that answers to calls need. A decision about a call needs more than its result. Without an answer
 * the current run is only read.
 */
export function toAnswerRights(answers: readonly CallAnswer[]): readonly Right[] {
	if (answers.length === 0) return ['readSession'];
	const decisions = answers.filter((answer) => 'approve' in answer).length;
	return [
		...(decisions > 0 ? (['decide'] as const) : []),
		...(decisions < answers.length ? (['sendMessage'] as const) : []),
	];
}
