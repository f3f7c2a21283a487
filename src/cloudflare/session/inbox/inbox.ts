import { RunletError } from '../../../core/base/errors.ts';
import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import { createCrashPoints } from '../../agent/runtime.ts';
import { assertMay, assertRight, type Right } from '../../auth/rights.ts';
import { createBusy } from '../../objects/admission.ts';
import { isWithinLimit, type Limit } from '../../objects/budget.ts';
import type { Once } from '../../objects/once.ts';
import type { Caller, CreateInput } from '../../objects/session-api.ts';
import { toTitle } from '../run/begin.ts';
import type { LiveRun } from '../run/run.ts';
import { toInbound } from '../store/inbound.ts';
import type { Outcome } from '../store/requests.ts';
import { checkArguments } from './answers.ts';
import type { Principal } from './authorization.ts';
import { Funds } from './funds.ts';
import { type InboxContext, InboxTransaction, type Opened, type Stored, type Upcoming } from './transaction.ts';
import { findJoin, type JoinChildren } from './tree.ts';

/** A request that may begin a run: who sends it, and whether it may come again. */
export interface Request {
	readonly caller: Caller;
	/** What the caller has to be allowed. */
	readonly rights: readonly Right[] | ((tx: InboxTransaction) => readonly Right[]);
	/** The agent that a page names. */
	readonly agent?: string;
	/** The values of a session that does not exist yet. */
	readonly create?: CreateInput;
	readonly once?: Once;
	/** The message and the model of a request that may ask a model. */
	readonly asking?: Pick<CreateInput, 'input' | 'model'>;
	/** Answers whose arguments the tools of their calls check first. */
	readonly answers?: readonly CallAnswer[];
}

/** Stores a request, in its transaction. */
export type StoreRequest = (tx: InboxTransaction) => Stored;

/** A request that was accepted, and its run, if any. */
export interface Accepted extends Pick<Principal, 'by' | 'lease' | 'isOperator'> {
	readonly run: LiveRun | Upcoming | undefined;
	/** Whether the request came before. */
	readonly isReplay: boolean;
	readonly join?: JoinChildren;
}

/** The most requests that wait to be opened. Reads and cancels are not among them. */
const mostWaiting = 100;

/** Takes the requests that may begin a run, in three steps: `open`, `transaction`, `start`. */
export class Inbox {
	readonly #context: InboxContext & { readonly funds: Funds };
	/** The requests that wait to be opened. */
	#waiting = 0;

	constructor(context: InboxContext) {
		this.#context = { ...context, funds: new Funds(context) };
	}

	/**
	 * Takes a request. Throws `overloaded` if too many requests wait to be opened. A repeated request changes nothing and
	 * gets the run of the first one.
	 */
	async take(request: Request, store: StoreRequest): Promise<Accepted> {
		if (this.#waiting >= mostWaiting) throw createBusy('This session');
		this.#waiting++;
		try {
			const opened = await this.#open(request);
			for (;;) {
				const { isReplay, stored } = this.#transaction(request, opened, store);
				if (stored.type !== 'cancel') {
					const run = this.#start(stored);
					if (run !== undefined && !isReplay) await this.#crashPoint(run.record.n);
					const { by, lease, isOperator } = opened.principal;
					return { run, isReplay, by, lease, isOperator, join: this.join };
				}
				// Meanwhile another request may have cancelled the same run.
				await this.#context.runner.cancel();
				this.#context.authorization.assertExists();
			}
		} finally {
			this.#waiting--;
		}
	}

	/** Adds the events of the session's children to its own, for its readers. Missing where its agent has none. */
	get join(): JoinChildren | undefined {
		return findJoin(this.#context);
	}

	/** Cancels the session's run. Returns whether the request came before: then it cancels nothing. */
	async cancel(caller: Caller, once: Once | undefined): Promise<boolean> {
		const { store, runner, authorization } = this.#context;
		authorization.assertMayChange(caller);
		if (this.findReplay(once) !== undefined) return true;
		await runner.cancel();
		authorization.assertExists();
		if (once !== undefined && this.findReplay(once) === undefined) store.deliveries.add(once, {}, Date.now());
		return false;
	}

	/** Finds what a request has begun when it came before; nothing for a new request. */
	findReplay(once: Once | undefined): Outcome | undefined {
		const isNew = once === undefined || once.isFirst === true;
		const before = isNew ? undefined : this.#context.store.deliveries.find(once, Date.now());
		if (before === undefined || before.request === once?.request) return before;
		const message = 'Idempotency-Key: this key belongs to another request. Use a new one for each request.';
		throw new RunletError('conflict', message, { field: 'Idempotency-Key' });
	}

	/** The first step: everything that takes time. Finds who asks, checks arguments, and reads budgets. */
	async #open(request: Request): Promise<Opened> {
		const { store, runner, authorization, funds } = this.#context;
		const { caller, once, answers } = request;
		const principal = await this.#authorize(request);
		const checkedIn = answers && (await checkArguments(this.#context, principal, answers));
		if (checkedIn !== undefined) authorization.assertExists();
		// A repeated request is answered whatever is left to spend.
		const isKnown = once !== undefined && store.exists() && store.deliveries.find(once, Date.now()) !== undefined;
		const opened = { caller, principal, once, checkedIn };
		if (request.asking === undefined || isKnown) return opened;
		if (store.exists()) await runner.owner.assertRoom(store.session());
		return { ...opened, funds: await funds.look() };
	}

	/** Lets a caller in, also to a session of theirs that does not exist yet. */
	async #authorize({ caller, agent, create, asking }: Request): Promise<Principal> {
		const { authorization, runner, funds } = this.#context;
		const isTheirs = create !== undefined && 'owner' in caller && mayCreate(caller, create);
		if (isTheirs && authorization.isMissing()) {
			await runner.owner.assertRoom(create);
			await funds.assertNew({ ...create, ...asking });
			await runner.alarm.announce();
			if (authorization.isMissing()) return { by: caller.by, isOperator: caller.role === 'admin' };
		}
		const principal = await authorization.open(caller, [], agent);
		authorization.assertMayTakePart(caller);
		return principal;
	}

	/** The second step: everything that is stored together. */
	#transaction(request: Request, opened: Opened, store: StoreRequest) {
		return this.#context.store.transaction(() => {
			this.#createMissing(request);
			const tx = new InboxTransaction(this.#context, opened);
			const rights = typeof request.rights === 'function' ? request.rights(tx) : request.rights;
			for (const right of rights) assertMay(opened.principal, right);
			const before = this.findReplay(opened.once);
			if (before !== undefined) return { isReplay: true, stored: tx.join(before) };
			const stored = store(tx);
			tx.finish();
			return { isReplay: false, stored };
		});
	}

	/** The third step, once that is committed: begins the run, and tells the owner of a change. */
	#start(stored: Stored): LiveRun | Upcoming | undefined {
		const { runner } = this.#context;
		if (stored.type === 'run') return runner.start(stored.work);
		if (stored.type === 'join') return stored.run;
		void runner.alarm.set();
		runner.tellOwner();
		return undefined;
	}

	/** Creates a session that does not exist yet, in the transaction that stores its first request. */
	#createMissing({ create, caller }: Request): void {
		const { id, store, authorization, runtime, config } = this.#context;
		if (create !== undefined && authorization.isMissing()) {
			const agent = findAgent(runtime.agents, create.agent);
			chooseModel(agent, create.model, config().model);
			if ('owner' in caller) assertOwnBudget(caller, create, agent.budget ?? config().sessionBudget);
			const createdAt = Date.now();
			const first = create.input && toInbound(create.input, create, create.by).message;
			const { by: createdBy } = create;
			store.create({ ...create, id, createdBy, createdAt, title: first && toTitle([first]) });
			// The history at the start belongs to no run.
			for (const message of create.history ?? []) store.messages.add(0, message, createdAt, { input: true });
		}
		authorization.assertExists();
	}

	async #crashPoint(n: number): Promise<void> {
		const { id, runtime } = this.#context;
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
