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
import type { SessionRecord } from '../store/session-row.ts';
import { assertAllowed, type Operation, type Status } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import type { Authorization, Principal } from './authorization.ts';
import { assertFunds, type KnownFunds, type ModelRequest } from './funds.ts';

export interface InboxContext {
	readonly id: string;
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly authorization: Authorization;
	readonly runtime: Runtime;
	readonly config: () => Config;
}

/** The run of a waiting message. */
export interface UpcomingRun {
	readonly record: { readonly n: number; readonly id: string };
	readonly begun: Promise<LiveRun>;
}

/** What a request has stored. After the commit a run begins, and the owner's directory is told of a change. */
export type StoreResult =
	| { readonly type: 'run'; readonly work: Work }
	/** The request gets a run that began before or that waits, if any. */
	| { readonly type: 'join'; readonly run?: LiveRun | UpcomingRun }
	| { readonly type: 'change' }
	/** The current run has to be cancelled. Then the request is tried again. */
	| { readonly type: 'cancel' };

export interface OpenedRequest {
	readonly caller: Caller;
	readonly principal: Principal;
	readonly config: Config;
	readonly once?: Once;
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

	/** The call of a child whose approval the session asks for. */
	get askedCall(): AskedCall | undefined {
		return this.status === 'awaiting_user' ? findAskedCall(this.pending.question) : undefined;
	}

	findOpenAnswers(answers: readonly CallAnswer[]): readonly CallAnswer[] {
		return this.status === 'awaiting_tools' ? findOpenAnswers(this.pending.calls, answers) : [];
	}

	/**
	 * Throws if the status does not allow the operation, the caller may not perform it, or a budget or the storage is
	 * spent. An operation calls it before it stores anything.
	 *
	 * @param asked the request to a model. An answer to a call has none: it is stored without money and room, too.
	 */
	allow(operation: Operation | undefined, asked?: ModelRequest): void {
		this.#isAllowed = true;
		const isReply = operation === 'reply' || operation === 'answer';
		const { caller, principal, config, funds } = this.opened;
		// A queued message, or a replacement, would run after the parent was told of the end.
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

	storeRun(messages: readonly Message[], options: Omit<BeginOptions, 'once'> = {}): StoreResult {
		const { once, config } = this.opened;
		return { type: 'run', work: this.runner.storeRun(messages, { ...options, once }, config) };
	}

	noteAccepted(): void {
		const { once } = this.opened;
		if (once !== undefined) this.store.deliveries.add(once, {}, Date.now());
	}

	toInbound(input: Input): ReturnType<typeof toInbound> {
		return toInbound(input, this.session, this.by);
	}

	joinWaiting({ id, runId }: { readonly id: number; readonly runId: string }, n = 0): StoreResult {
		return { type: 'join', run: { record: { n, id: runId }, begun: this.runner.waiting.wait(id) } };
	}

	/** Returns the run of an earlier request: live, stored, or the run of its queued message. */
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
