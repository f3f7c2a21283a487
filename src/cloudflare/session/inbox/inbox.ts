import { createFieldError } from '../../../core/base/errors.ts';
import type { CallAnswer } from '../../../core/chat/call-answers.ts';
import type { Label } from '../../../core/tool/index.ts';
import { findChildWork } from '../../agent/children.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import type { EventSource, TreePlace } from '../../agent/event-source.ts';
import { createCrashPoints } from '../../agent/runtime.ts';
import { assertMay, assertRight, type Right } from '../../auth/rights.ts';
import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import { isWithinLimit, type Limit } from '../../objects/budget.ts';
import type { Once } from '../../objects/once.ts';
import { createBusy, type RpcResult, toRpcResult } from '../../objects/reach.ts';
import type { Caller, CreateInput, RequestOrigin } from '../../objects/session-api.ts';
import { formatEventId, toStart } from '../events/log.ts';
import { toTitle } from '../run/begin.ts';
import { runInBackground } from '../run/lease.ts';
import { findRefusal } from '../run/may-decide.ts';
import { toPauseMs } from '../run/next.ts';
import type { LiveRun } from '../run/run.ts';
import { listAskers } from '../store/askers.ts';
import { type Outcome, toInbound } from '../store/inbound.ts';
import { findShardsOfAll } from '../store/session-row.ts';
import { checkArguments } from './answers.ts';
import { archiveSession, restoreSession } from './archive.ts';
import { assertNewFunds, readFunds } from './funds.ts';
import {
	type InboxContext,
	InboxTransaction,
	type OpenedRequest,
	type Principal,
	type StoreResult,
	type UpcomingRun,
} from './transaction.ts';

export interface Request {
	readonly caller: Caller;
	readonly rights: readonly Right[] | ((tx: InboxTransaction) => readonly Right[]);
	/** The agent that a page names. */
	readonly agent?: string;
	/** The values of a session that does not exist yet. */
	readonly create?: CreateInput;
	readonly once?: Once;
	readonly origin?: RequestOrigin;
	readonly asking?: Pick<CreateInput, 'input' | 'model'>;
	/** Answers whose edited arguments are checked before the transaction. */
	readonly answers?: readonly CallAnswer[];
}

/** Adds the children's events to the session's own events, from the position of a reconnecting reader. */
export type JoinChildren = (own: EventSource, from?: TreePlace) => EventSource;

export type StoreRequest = (tx: InboxTransaction) => StoreResult;

export interface AcceptedRequest extends Pick<Principal, 'by' | 'lease' | 'isOperator'> {
	readonly run: LiveRun | UpcomingRun | undefined;
	readonly isReplay: boolean;
	readonly join?: JoinChildren;
}

/** The maximum number of requests that a session handles at a time, not counting reads and cancels. */
const mostWaiting = 100;

/** Handles the requests that may begin a run, in three steps: `open`, `transaction`, `start`. */
export class Inbox {
	readonly #context: InboxContext;
	#waiting = 0;

	constructor(context: InboxContext) {
		this.#context = context;
	}

	/**
	 * Handles a request. A repeated request changes nothing and gets the run of the first request. Throws `overloaded` if
	 * the session has too many requests.
	 */
	async take(request: Request, store: StoreRequest): Promise<AcceptedRequest> {
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

	/** Adds the children's events to the session's own events. Missing if no tool of the agent starts children. */
	get join(): JoinChildren | undefined {
		const { runtime, store, config } = this.#context;
		if (!store.exists()) return undefined;
		const { id: parent, owner, agent: name } = store.session();
		const agent = runtime.agents.find((one) => one.name === name);
		const work = [...(agent?.tools ?? []), ...(agent?.skillTools ?? [])].map(findChildWork).find((one) => one);
		if (work === undefined) return undefined;
		const open = ({ id }: { readonly id: string }, lastId: string) => {
			const { sessions } = config();
			return sessions.get(sessions.idFromString(id)).events({ owner, parent }, lastId, { type: 'lines' });
		};
		// The session may be removed while somebody reads.
		const list = () => (store.exists() ? store.calls.children.list() : []);
		return (own, from) => work.joinEvents(own, { list, open, start: formatEventId(toStart(1)), from });
	}

	/** Cancels the session's run. For a repeated request, cancels nothing and returns true. */
	async cancel(caller: Caller, once: Once | undefined): Promise<boolean> {
		const { store, runner, authorization } = this.#context;
		authorization.assertMayChange(caller);
		if (this.findReplay(once) !== undefined) return true;
		await runner.cancel();
		authorization.assertExists();
		if (once !== undefined && this.findReplay(once) === undefined) store.deliveries.add(once, {}, Date.now());
		return false;
	}

	/** Takes labels back. Throws `forbidden` if an agent's policy does not let the caller approve that. */
	clearLabels(labels: readonly Label[], { by }: Pick<Principal, 'by'>): void {
		const { store, runner, runtime, config } = this.#context;
		const call = { id: 'clearLabels', name: 'clear_labels', input: { labels } };
		const decision = by && { call, approve: true, by, askers: () => listAskers(store) };
		const place = { session: store.session(), agents: runtime.agents, config };
		const reason = decision && findRefusal(place, decision);
		if (reason !== undefined)
			throw createFieldError('forbidden', 'clearLabels', `you may not clear labels: ${reason}.`);
		runner.labels.clear(labels, by);
	}

	/** Finds the outcome of a repeated request. Returns nothing for a new request. */
	findReplay(once: Once | undefined): Outcome | undefined {
		const isNew = once === undefined || once.isFirst === true;
		const before = isNew ? undefined : this.#context.store.deliveries.find(once, Date.now());
		if (before === undefined || before.request === once?.request) return before;
		const what = 'this key belongs to another request. Use a new one for each request.';
		throw createFieldError('conflict', 'Idempotency-Key', what);
	}

	/** The first step, which is asynchronous: authorizes the caller, checks arguments, and reads budgets. */
	async #open(request: Request): Promise<OpenedRequest> {
		const { store, runner, authorization } = this.#context;
		const config = this.#context.config();
		const { caller, once, origin, answers } = request;
		const principal = await this.#authorize(request, config);
		const checkedIn = answers && (await checkArguments(this.#context, principal, answers));
		if (checkedIn !== undefined) authorization.assertExists();
		const opened = { caller, principal, config, once, origin, checkedIn };
		if (request.asking === undefined || !store.exists()) return opened;
		// A repeated request needs neither budget nor storage.
		if (once !== undefined && store.deliveries.find(once, Date.now()) !== undefined) return opened;
		const session = store.session();
		config.assertPlaced(session);
		await runner.owner.assertRoom(session, config);
		return { ...opened, funds: await readFunds({ store, session, config }) };
	}

	/** Authorizes a caller. The session need not exist yet if the caller may create it. */
	async #authorize({ caller, agent, create, asking }: Request, config: Config): Promise<Principal> {
		const { authorization, runner } = this.#context;
		const isTheirs = create !== undefined && 'owner' in caller && mayCreate(caller, create);
		if (isTheirs && authorization.isMissing()) {
			config.assertPlaced({ ...create, id: this.#context.id });
			await runner.owner.assertRoom(create, config);
			await assertNewFunds({ ...create, ...asking }, config);
			await runner.alarm.announce();
			if (authorization.isMissing()) return { by: caller.by, isOperator: caller.role === 'admin' };
		}
		const principal = await authorization.open(caller, [], agent);
		authorization.assertMayTakePart(caller);
		return principal;
	}

	#transaction(request: Request, opened: OpenedRequest, store: StoreRequest) {
		return this.#context.store.transaction(() => {
			this.#createMissing(request, opened.config);
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

	/** The third step, after the commit: begins the run, or reports the change to the owner's directory. */
	#start(stored: StoreResult): LiveRun | UpcomingRun | undefined {
		const { runner } = this.#context;
		if (stored.type === 'run') return runner.start(stored.work);
		if (stored.type === 'join') return stored.run;
		void runner.alarm.set();
		runner.tellOwner();
		return undefined;
	}

	/** Creates a session that does not exist yet, in the transaction that stores its first request. */
	#createMissing({ create, caller }: Request, config: Config): void {
		const { id, store, authorization, runtime } = this.#context;
		if (create !== undefined && authorization.isMissing()) {
			const agent = findAgent(runtime.agents, create.agent);
			chooseModel(agent, create.model, config.model);
			if ('owner' in caller) assertOwnBudget(caller, create, agent.budget ?? config.sessionBudget);
			const createdAt = Date.now();
			const first = create.input && toInbound(create.input, create, { from: create.by }).message;
			const { by: createdBy } = create;
			const shards = { shards: config.findShardCount(create.owner), shardsOfAll: findShardsOfAll(config, create) };
			store.create({ ...create, id, createdBy, createdAt, ...shards, title: first && toTitle([first]) });
			// The initial history belongs to no run.
			for (const message of create.history ?? []) store.messages.add(0, message, createdAt, { input: true });
		}
		authorization.assertExists();
	}

	async #crashPoint(n: number): Promise<void> {
		const { id, runtime } = this.#context;
		await createCrashPoints(runtime.crashPoint, id, n)('accepted');
	}
}

function mayCreate({ owner, by, role }: Extract<Caller, { readonly owner: string }>, create: CreateInput): boolean {
	return owner === create.owner && (role !== 'customer' || by?.user === create.user);
}

/** Throws `forbidden` if a caller without the right to set budgets asks for more than the usual budget. */
function assertOwnBudget(
	{ role }: Extract<Caller, { readonly owner: string }>,
	{ budget }: CreateInput,
	usual: Limit,
): void {
	if (budget === undefined || role === undefined || isWithinLimit(budget, usual)) return;
	assertRight(role, 'setBudget', 'budget');
}

interface LifecycleOptions extends Omit<InboxContext, 'runtime'> {
	/** Goes on with a fork that was interrupted. */
	readonly imports: { goOn(): void };
}

/** The lifecycle of a session's object: its restart, its alarm, its archive and its removal. */
export class Lifecycle {
	readonly #options: LifecycleOptions;
	/** Whether this instance has continued the work of an earlier instance. */
	#isAwake = false;
	#hasAlarm = false;
	/** How many requests this instance has got. */
	#requests = 0;
	#restoring: Promise<void> | undefined;

	constructor(options: LifecycleOptions) {
		this.#options = options;
		try {
			this.#wake();
		} catch (cause) {
			// The next request or alarm tries again.
			log('error', 'session.not_awake', toFailureFields(cause));
		}
	}

	/** Answers a request. Never rejects. */
	answer<T>(work: () => Promise<T>): Promise<RpcResult<T>> {
		return toRpcResult(async () => {
			this.#requests++;
			const restoring = this.#restore();
			if (restoring !== undefined) await restoring;
			this.#wake();
			runInBackground(async () => this.#options.runner.noteUse());
			this.#renewAlarm();
			return work();
		});
	}

	enter<T>(
		caller: Caller,
		rights: readonly Right[],
		work: (principal: Principal) => T | Promise<T>,
		agent?: string,
	): Promise<RpcResult<T>> {
		return this.answer(async () => work(await this.#options.authorization.open(caller, rights, agent)));
	}

	/** Like `enter`, but for changes. A child session accepts changes only from its parent. */
	change<T>(caller: Caller, rights: readonly Right[], work: () => T | Promise<T>): Promise<RpcResult<T>> {
		return this.enter(caller, rights, () => {
			this.#options.authorization.assertMayChange(caller);
			return work();
		});
	}

	/** Cancels all work and removes the session. Refuses callers during the removal. */
	async remove(): Promise<void> {
		const { authorization, runner } = this.#options;
		authorization.isClosed = true;
		try {
			await runner.remove();
		} finally {
			authorization.isClosed = false;
		}
	}

	async handleAlarm(): Promise<void> {
		const { runner, store, imports } = this.#options;
		store.alarm.noteGone();
		try {
			// An archived session has an alarm only if it expires.
			await this.#restore();
			this.#wake();
			imports.goOn();
			const { action } = await runner.handleAlarm();
			if (action.type === 'archive') await this.#archive(action.expiresAt);
			if (action.type === 'remove') await this.remove();
			if (action.type === 'clear') await runner.owner.outbox.sendRest();
		} catch (cause) {
			// If an alarm throws, the platform repeats it only a few times.
			log('error', 'session.alarm_failed', toFailureFields(cause));
			// If the alarm cannot be set either, the next request sets it.
			this.#hasAlarm = false;
			await store.alarm.set(Date.now() + toPauseMs(cause));
		}
	}

	async #archive(expiresAt: number | undefined): Promise<void> {
		const before = this.#requests;
		await archiveSession(this.#options, () => this.#requests === before, expiresAt);
		await this.#options.runner.alarm.set();
	}

	/** Restores an archived session, once for all callers. Returns nothing for any other session. */
	#restore(): Promise<void> | undefined {
		const { store, runner } = this.#options;
		const archived = store.archive.find();
		if (archived === undefined) return undefined;
		this.#restoring ??= restoreSession(this.#options, archived)
			.then(() => {
				this.#isAwake = false;
				this.#wake();
				void runner.alarm.set();
			})
			.finally(() => {
				this.#restoring = undefined;
			});
		return this.#restoring;
	}

	/** Continues the work of an earlier instance, once. Throws if the storage fails. */
	#wake(): void {
		if (this.#isAwake) return;
		const { store } = this.#options;
		store.open();
		store.reports.noteListedBytes(store.bytes);
		if (store.isImporting && store.importProgress === undefined) store.erase(Date.now());
		this.#options.runner.goOn();
		this.#isAwake = true;
	}

	#renewAlarm(): void {
		if (this.#hasAlarm) return;
		this.#hasAlarm = true;
		runInBackground(async () => {
			this.#hasAlarm = await this.#options.runner.alarm.renew();
		});
	}
}
