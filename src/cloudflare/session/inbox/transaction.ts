import type { Actor } from '../../../core/base/actor.ts';
import { type CallAnswer, findOpenAnswers } from '../../../core/chat/call-answers.ts';
import type { Message } from '../../../core/chat/index.ts';
import { type AskedCall, findAskedCall } from '../../agent/child-decision.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { assertMay } from '../../auth/rights.ts';
import type { Config } from '../../config/config.ts';
import type { Once } from '../../objects/once.ts';
import { assertRoom } from '../../objects/room.ts';
import type { Caller, Input } from '../../objects/session-api.ts';
import type { BeginOptions } from '../run/begin.ts';
import { createPastRun, type LiveRun, type Work } from '../run/run.ts';
import type { Runner } from '../run/runner.ts';
import { findPending, type Pending } from '../store/calls.ts';
import { toInbound } from '../store/inbound.ts';
import type { Outcome } from '../store/requests.ts';
import { assertAllowed, type Operation, type Status } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import type { Authorization, Principal } from './authorization.ts';
import type { Funds, KnownFunds, ModelRequest } from './funds.ts';

/** What requests to a session are handled with. */
export interface InboxContext {
	/** The session's id. */
	readonly id: string;
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly authorization: Authorization;
	readonly runtime: Runtime;
	readonly config: () => Config;
}

/** A run that waits for its turn. */
export interface Upcoming {
	readonly record: { readonly n: number; readonly id: string };
	readonly begun: Promise<LiveRun>;
}

/** What a request has stored. A run begins, and the owner is told of a change, once that is committed. */
export type Stored =
	| { readonly type: 'run'; readonly work: Work }
	/** The request gets a run that began before, or that waits; none where there is none. */
	| { readonly type: 'join'; readonly run?: LiveRun | Upcoming }
	| { readonly type: 'change' }
	/** The current run has to be cancelled first. Then the request is tried again. */
	| { readonly type: 'cancel' };

/** A request that was opened: what the transaction knows of it. */
export interface Opened {
	readonly caller: Caller;
	readonly principal: Principal;
	readonly once?: Once;
	/** The budgets of the owner and the user, if they refused a run lately. */
	readonly funds?: KnownFunds;
	/** The turn in which the arguments were checked that the answers bring. */
	readonly checkedIn?: number;
}

/** The transaction of a request, as its operation sees it: the session, who asks, and what they may do. */
export class InboxTransaction {
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly status: Status;
	readonly opened: Opened;
	readonly #context: InboxContext & { readonly funds: Funds };
	#pending: Pending | undefined;
	#isAllowed = false;
	#asksModel = false;

	constructor(context: InboxContext & { readonly funds: Funds }, opened: Opened) {
		this.#context = context;
		this.store = context.store;
		this.runner = context.runner;
		this.status = context.store.status;
		this.opened = opened;
	}

	/** Who asks. A child session has no actor of its own. */
	get by(): Actor | undefined {
		return this.opened.principal.by;
	}

	get context(): InboxContext {
		return this.#context;
	}

	/** What the session waits for, read once. */
	get pending(): Pending {
		this.#pending ??= findPending(this.store);
		return this.#pending;
	}

	/** The call of a child whose approval the session asks for. */
	get askedCall(): AskedCall | undefined {
		return this.status === 'awaiting_user' ? findAskedCall(this.pending.question) : undefined;
	}

	/** Returns the answers to calls that are open. */
	findOpenAnswers(answers: readonly CallAnswer[]): readonly CallAnswer[] {
		return this.status === 'awaiting_tools' ? findOpenAnswers(this.pending.calls, answers) : [];
	}

	/**
	 * Throws where the status does not allow the operation, the caller may not do it, or a budget or the storage is spent.
	 * An operation calls it before it stores anything.
	 *
	 * @param asked what it asks of a model. Without it, it is stored whatever is left to spend: it answers a call.
	 */
	allow(operation: Operation | undefined, asked?: ModelRequest): void {
		this.#isAllowed = true;
		const isReply = operation === 'reply' || operation === 'answer';
		const { authorization, funds } = this.#context;
		const { caller, principal } = this.opened;
		// A message behind an answer, or in the place of another one, would go on after the parent was told of the end.
		if (!isReply && operation !== 'submit') authorization.assertMayChange(caller);
		const calls = this.status === 'awaiting_tools' ? this.pending.calls : undefined;
		if (operation !== undefined) assertAllowed(this.status, operation, calls);
		if (isReply && this.askedCall !== undefined) assertMay(principal, 'decide');
		if (asked === undefined) return;
		this.#asksModel = true;
		funds.assert(asked, this.opened.funds);
		this.#assertRoom();
	}

	/** Checks what was stored. What does not fit is rolled back. */
	finish(): void {
		if (!this.#isAllowed) this.#context.authorization.assertMayChange(this.opened.caller);
		if (this.#asksModel) this.#assertRoom();
	}

	/** Stores a run and the messages that it begins with. */
	storeRun(messages: readonly Message[], options: Omit<BeginOptions, 'once'> = {}): Stored {
		return { type: 'run', work: this.runner.storeRun(messages, { ...options, once: this.opened.once }) };
	}

	/** Stores that the request was accepted and began no run. */
	noteAccepted(): void {
		const { once } = this.opened;
		if (once !== undefined) this.store.deliveries.add(once, {}, Date.now());
	}

	/** Turns a message from outside into one of the history. */
	toInbound(input: Input): ReturnType<typeof toInbound> {
		return toInbound(input, this.store.session(), this.by);
	}

	/** Returns the run that waits for a message in the queue. */
	joinWaiting({ id, runId }: { readonly id: number; readonly runId: string }, n = 0): Stored {
		return { type: 'join', run: { record: { n, id: runId }, begun: this.runner.waiting.wait(id) } };
	}

	/** Returns the run that an earlier request began, live or as it is stored, or that its message waits for. */
	join({ run, waiting }: Outcome): Stored {
		const waits = waiting === undefined ? undefined : this.store.queue.get(waiting);
		if (waits !== undefined) return this.joinWaiting(waits);
		const { live } = this.runner;
		if (run === undefined) return { type: 'join' };
		return { type: 'join', run: live?.record.n === run ? live : createPastRun(this.store, run) };
	}

	#assertRoom(): void {
		assertRoom('session', this.#context.config().roomLimits, this.store.bytes);
	}
}
