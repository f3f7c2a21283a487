import { type CallAnswer, findOpenAnswers } from '../../../core/chat/call-answers.ts';
import type { Actor } from '../../../core/ground/actor.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import { findAskedCall } from '../../agent/child-decision.ts';
import { createCrashPoints } from '../../agent/crash.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { assertRight, type Right } from '../../auth/rights.ts';
import type { Config } from '../../config/config.ts';
import { createBusy } from '../../objects/admission.ts';
import { isWithinLimit, type Limit } from '../../objects/budget.ts';
import type { Once } from '../../objects/once.ts';
import { assertRoom } from '../../objects/room.ts';
import type { Caller, CreateInput } from '../../objects/session-api.ts';
import type { Lease } from '../events/follow.ts';
import { toTitle } from '../run/begin.ts';
import { createPastRun, type LiveRun } from '../run/run.ts';
import type { Runner } from '../run/runner.ts';
import { findPending, type Pending } from '../store/calls.ts';
import { toInbound } from '../store/inbound.ts';
import type { Outcome } from '../store/requests.ts';
import { assertAllowed, type Operation } from '../store/status.ts';
import type { SessionStore } from '../store/store.ts';
import type { Access, Pass } from './access.ts';
import { type Asked, Funds, type KnownFunds } from './funds.ts';
import { findJoin, type JoinChildren } from './tree.ts';

/** A request that may begin a run: who sends it, and whether it may come again. */
export interface Entry {
	readonly caller: Caller;
	/** What the caller has to be allowed. */
	readonly rights: readonly Right[] | ((now: Standing) => readonly Right[]);
	/** The agent that a page means. */
	readonly agent?: string;
	/** What the session is created with, where it is not there yet. */
	readonly create?: CreateInput;
	readonly once?: Once;
	/** Said where it may begin a run that asks a model: the message that it brings, and the model, if any. */
	readonly asking?: Pick<CreateInput, 'input' | 'model'>;
	/** What has to be done for it first, once the caller was let in. */
	readonly prepare?: (pass: Pass) => Promise<void>;
}

/** What a request does to a session that stands so; `cancel` where a run has to be cancelled first. */
export type Decide = (now: Standing) => Step | 'cancel';

export interface Step {
	/** What the session's status has to allow. */
	readonly operation?: Operation;
	/** What it asks of a model. Missing where it is stored whatever is left to spend: it answers what was asked. */
	readonly asked?: Asked;
	/** Stores the request. The gate calls what this gives once that is committed: for the run that it begins or waits for. */
	readonly store: () => Stored;
}

export type Stored = () => LiveRun | Upcoming | undefined;

/** A run that waits for its turn. */
export interface Upcoming {
	readonly record: { readonly n: number; readonly id: string };
	readonly begun: Promise<LiveRun>;
}

/** A request that was let in, and its run, if any. */
export interface Taken {
	readonly run: LiveRun | Upcoming | undefined;
	/** Whether the request came before. */
	readonly isReplay: boolean;
	readonly lease?: Lease;
	readonly join?: JoinChildren;
	/** Whether it came from somebody who sees errors as an operator does. */
	readonly isOperator: boolean;
	/** Who sent it. */
	readonly by: Actor | undefined;
}

/** Where a session stands when a request comes. What waits for somebody is read once. */
export class Standing {
	readonly status: SessionStore['status'];
	/** Who sends it. Nobody where a session passes on what somebody said. */
	readonly by: Actor | undefined;
	readonly #store: SessionStore;
	#pending: Pending | undefined;

	constructor(store: SessionStore, by: Actor | undefined) {
		this.status = store.status;
		this.by = by;
		this.#store = store;
	}

	get pending(): Pending {
		this.#pending ??= findPending(this.#store);
		return this.#pending;
	}

	/** Whether the session asks for the approval of a child's call. */
	get asksForApproval(): boolean {
		return this.status === 'awaiting_user' && findAskedCall(this.pending.question) !== undefined;
	}

	/** Of these answers those to calls that are open. */
	findOpenAnswers(answers: readonly CallAnswer[]): readonly CallAnswer[] {
		return this.status === 'awaiting_tools' ? findOpenAnswers(this.pending.calls, answers) : [];
	}

	/** Throws `conflict` where the status does not allow the operation. */
	assertAllowed(operation: Operation): void {
		assertAllowed(this.status, operation, this.status === 'awaiting_tools' ? this.pending.calls : undefined);
	}
}

interface GateOptions {
	/** The session's id. */
	readonly id: string;
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly access: Access;
	readonly runtime: Runtime;
	readonly config: () => Config;
}

/** The most requests that wait to be let in. Reads and cancels are not among them. */
const mostWaiting = 100;

/** The one way in for a request that may begin a run: who asks, did it come before, does the session's status allow it. */
export class Gate {
	readonly #options: GateOptions;
	readonly #funds: Funds;
	/** The requests that wait to be let in. */
	#waiting = 0;

	constructor(options: GateOptions) {
		this.#options = options;
		this.#funds = new Funds(options);
	}

	/**
	 * Lets a request in and does what it decides. Throws `overloaded` if too many requests wait to be let in. A repeated request
	 * changes nothing and gets the run of the first one.
	 */
	async take(entry: Entry, decide: Decide): Promise<Taken> {
		if (this.#waiting >= mostWaiting) throw createBusy('This session');
		this.#waiting++;
		try {
			return await this.#take(entry, decide);
		} finally {
			this.#waiting--;
		}
	}

	async #take(entry: Entry, decide: Decide): Promise<Taken> {
		const { store, runner, access } = this.#options;
		const pass = await this.#letIn(entry);
		if (entry.prepare !== undefined) {
			await entry.prepare(pass);
			access.assertExists();
		}
		const mayAsk = entry.asking !== undefined && !this.#cameBefore(entry);
		if (mayAsk && store.exists()) await runner.owner.assertRoom(store.session());
		const known = mayAsk ? await this.#funds.look() : undefined;
		for (;;) {
			const taken = store.transaction(() => this.#store(entry, pass, { decide, known }));
			if (taken !== undefined) {
				const run = taken.begin();
				if (run !== undefined && !taken.isReplay) await this.#noteAccepted(run.record.n);
				const { lease, by, isOperator } = pass;
				return { run, isReplay: taken.isReplay, lease, by, isOperator, join: this.join };
			}
			// Meanwhile another request may have had the same done.
			await runner.cancel();
			access.assertExists();
		}
	}

	/** Adds the events of the session's children to its own, for its readers. Missing where its agent has none. */
	get join(): JoinChildren | undefined {
		return findJoin(this.#options);
	}

	/**
	 * Cancels the session's run. A request that came before cancels nothing: another run may go on now. Returns whether it
	 * came before.
	 */
	async cancel(caller: Caller, once: Once | undefined): Promise<boolean> {
		const { store, runner, access } = this.#options;
		access.assertMayChange(caller);
		if (this.findReplay(once) !== undefined) return true;
		await runner.cancel();
		access.assertExists();
		if (once !== undefined && this.findReplay(once) === undefined) store.deliveries.add(once, {}, Date.now());
		return false;
	}

	/** Removes a message that waits, by the id of the run that it would begin. */
	removeWaiting(caller: Caller, runId: string): void {
		this.#options.access.assertMayChange(caller);
		this.#options.runner.removeWaiting(runId);
	}

	/** What a request has begun when it came before; nothing for a request that is new. */
	findReplay(once: Once | undefined): Outcome | undefined {
		const isNew = once === undefined || once.isFirst === true;
		const before = isNew ? undefined : this.#options.store.deliveries.find(once, Date.now());
		if (before === undefined || before.request === once?.request) return before;
		const message = 'Idempotency-Key: this key belongs to another request. Use a new one for each request.';
		throw new RunletError('conflict', message, { field: 'Idempotency-Key' });
	}

	/** Everything of `take` that has to happen at once; nothing where a run has to be cancelled first. */
	#store(entry: Entry, pass: Pass, { decide, known }: { readonly decide: Decide; readonly known?: KnownFunds }) {
		const { store, runner, access } = this.#options;
		this.#createMissing(entry);
		const now = new Standing(store, pass.by);
		for (const right of typeof entry.rights === 'function' ? entry.rights(now) : entry.rights) pass.assert(right);
		const before = this.findReplay(entry.once);
		if (before !== undefined) return { isReplay: true, begin: () => findRun(store, runner, before) };
		const step = decide(now);
		const operation = step === 'cancel' ? undefined : step.operation;
		const isReply = operation === 'reply' || operation === 'answer';
		// What waits behind an answer, or takes the place of a message, would go on when the parent was told the end.
		if (!isReply && operation !== 'submit') access.assertMayChange(entry.caller);
		if (step === 'cancel') return undefined;
		if (operation !== undefined) now.assertAllowed(operation);
		if (isReply && now.asksForApproval) pass.assert('decide');
		if (step.asked === undefined) return { isReplay: false, begin: step.store() };
		this.#funds.assert(step.asked, known);
		const { roomLimits } = this.#options.config();
		assertRoom('session', roomLimits, store.bytes);
		const begin = step.store();
		// What does not fit is not stored.
		assertRoom('session', roomLimits, store.bytes);
		return { isReplay: false, begin };
	}

	/** Lets a caller in, also to a session of theirs that is not there yet. */
	async #letIn({ caller, agent, create, asking }: Entry): Promise<Pass> {
		const { access, runner } = this.#options;
		const isTheirs = create !== undefined && 'owner' in caller && mayCreate(caller, create);
		if (isTheirs && access.isMissing()) {
			await runner.owner.assertRoom(create);
			await this.#funds.assertNew({ ...create, ...asking });
			await runner.alarm.announce();
			if (access.isMissing()) return { by: caller.by, assert: () => {}, isOperator: caller.role === 'admin' };
		}
		const pass = await access.open(caller, [], agent);
		access.assertMayTakePart(caller);
		return pass;
	}

	/** Whether a request came before, so that it is answered whatever is left to spend. */
	#cameBefore({ once }: Pick<Entry, 'once'>): boolean {
		const { store } = this.#options;
		return once !== undefined && store.exists() && store.deliveries.find(once, Date.now()) !== undefined;
	}

	/** Makes a session that is not there yet, in the transaction that stores what it is made for. */
	#createMissing({ create, caller }: Pick<Entry, 'create' | 'caller'>): void {
		const { id, store, access, runtime, config } = this.#options;
		if (create !== undefined && access.isMissing()) {
			const agent = findAgent(runtime.agents, create.agent);
			chooseModel(agent, create.model, config().model);
			if ('owner' in caller) assertOwnBudget(caller, create, agent.budget ?? config().sessionBudget);
			const createdAt = Date.now();
			const first = create.input && toInbound(create.input, create, create.by).message;
			const { by: createdBy } = create;
			store.create({ ...create, id, createdBy, createdAt, title: first && toTitle([first]) });
			// The history that it begins with is of no run.
			for (const message of create.history ?? []) store.messages.add(0, message, createdAt, { input: true });
		}
		access.assertExists();
	}

	async #noteAccepted(n: number): Promise<void> {
		const { id, runtime } = this.#options;
		await createCrashPoints(runtime.crashPoint, id, n)('accepted');
	}
}

/** Whether a caller may create a session with this owner and user. */
function mayCreate({ owner, by, role }: Extract<Caller, { readonly owner: string }>, create: CreateInput): boolean {
	return owner === create.owner && (role !== 'customer' || by?.user === create.user);
}

/** Throws `forbidden` for a caller without the right to raise budgets who asks for more than the agent's. */
function assertOwnBudget(
	{ role }: Extract<Caller, { readonly owner: string }>,
	{ budget }: CreateInput,
	usual: Limit,
): void {
	if (budget === undefined || role === undefined || isWithinLimit(budget, usual)) return;
	assertRight(role, 'setBudget', 'budget');
}

/** The run that a request has begun, live or as it is stored, or that its message waits for. */
export function findRun(
	store: SessionStore,
	runner: Runner,
	{ run, waiting }: Outcome,
): LiveRun | Upcoming | undefined {
	const waits = waiting === undefined ? undefined : store.queue.get(waiting);
	if (waits !== undefined) return { record: { n: 0, id: waits.runId }, begun: runner.waiting.wait(waits.id) };
	if (run === undefined) return undefined;
	const { live } = runner;
	return live?.record.n === run ? live : createPastRun(store, run);
}
