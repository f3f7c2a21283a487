import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import type { Agent } from '../../agent/define.ts';
import { assertMay, type Granted, type Right } from '../../auth/rights.ts';
import type { Config } from '../../config/config.ts';
import { assertInTime } from '../../objects/admission.ts';
import type { Caller } from '../../objects/session-api.ts';
import type { Lease } from '../events/follow.ts';
import { noSuchSession, type SessionRecord } from '../store/session-row.ts';
import { isWaiting } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import { SessionTokens } from './tokens.ts';

/** An authorized caller, with their role or the scopes of their token. */
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
