import type { Actor } from '../../../core/base/actor.ts';
import { type RunletError, toRunletError } from '../../../core/base/errors.ts';
import type { Message, TerminalEvent } from '../../../core/chat/index.ts';
import { findAgent } from '../../agent/define.ts';
import { type AtCrashPoint, createCrashPoints } from '../../agent/runtime.ts';
import { log, toFailureFields } from '../../log.ts';
import type { BudgetState } from '../../objects/budget.ts';
import type { IfMatch, WrittenFile } from '../../objects/file-api.ts';
import type { Bytes } from '../../objects/result.ts';
import { isStorageError } from '../../objects/storage.ts';
import { SessionFiles } from '../files/session-files.ts';
import { findAsker } from '../store/askers.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import { type BeginOptions, createInterruption, denyLate, giveUp, storeFailedRun, storeRun, takeUp } from './begin.ts';
import { noteShortage, readBudgetState } from './budgets.ts';
import { Callbacks } from './callbacks.ts';
import { leaveChildren } from './children.ts';
import { Connections } from './connections.ts';
import { endLeaseEarly } from './lease.ts';
import { type Ended, RunCounter, reportLostRun, reportRun } from './metrics.ts';
import { Alarm, type Attempt, alarmAgainMs, decideNext, type Next, readFacts } from './next.ts';
import { OutsideCalls } from './outside-calls.ts';
import { Owner, runInBackground } from './owner.ts';
import { createChatOptions, findLimit, prepareRun, type RunnerOptions } from './prepare.ts';
import { carryOut, createPastRun, createUnbegunRun, type LiveRun, type Work } from './run.ts';
import { WaitingRuns } from './waiting-runs.ts';

/**
 * Runs a session's runs, one at a time. What comes next is decided by what is stored (`decideNext`); in memory is only
 * the run that goes on.
 */
export class Runner {
	readonly owner: Owner;
	readonly alarm: Alarm;
	readonly files: SessionFiles;
	readonly outside: OutsideCalls;
	readonly waiting: WaitingRuns;
	/** Identifies this instance of the object. */
	readonly boot = crypto.randomUUID();
	readonly #options: RunnerOptions;
	readonly #store: SessionStore;
	readonly #callbacks: Callbacks;
	readonly #connections: Connections;
	#live: LiveRun | undefined;

	constructor(options: RunnerOptions) {
		const { store, config } = options;
		this.#options = options;
		this.#store = store;
		this.alarm = new Alarm(store, () => this.#decide().wakeAt);
		this.owner = new Owner(store, config);
		this.files = new SessionFiles(store, config);
		this.waiting = new WaitingRuns(store);
		this.#callbacks = new Callbacks(options);
		this.#connections = new Connections(options, () => this.#live !== undefined || this.outside.isBusy);
		this.outside = new OutsideCalls({ ...options, files: this.files, connections: this.#connections });
	}

	/** The current run, while this object carries it out. */
	get live(): LiveRun | undefined {
		return this.#live;
	}

	/**
	 * Does what the session does next, until that is nothing or is left to the alarm. A new instance of the object, its alarm
	 * and the end of each run call it. Throws where the storage fails; then it has to be called again.
	 */
	goOn(): Next {
		const wasLive = this.#live !== undefined;
		for (;;) {
			const next = this.#decide();
			const run = next.state === 'lost' ? this.#store.runs.get() : undefined;
			if (run !== undefined) this.#store.reports.lookBack();
			if (next.action.type === 'take-up' && run !== undefined) this.#takeUp(run, next.action.attempt);
			else if (next.action.type === 'give-up' && run !== undefined) this.#giveUp(run, createInterruption(run.attempt));
			else if (next.action.type === 'begin') this.#beginNext();
			else if (next.action.type === 'deny') denyLate(this.#store, this);
			else {
				if (!wasLive && this.#store.exists() && !this.owner.outbox.isEmpty) this.tellOwner();
				return next;
			}
		}
	}

	/**
	 * Stores a run and what it begins with, then lets it go: a message, the answers to calls, or nothing where a run that
	 * failed is taken up. Throws before anything is stored.
	 */
	begin(given: readonly Message[], how: BeginOptions = {}): LiveRun {
		return this.start(this.#store.transaction(() => this.storeRun(given, how)));
	}

	/** Stores a run, in a transaction of the caller's. Give the result to `start` once that is committed. */
	storeRun(given: readonly Message[], how: BeginOptions = {}): Work {
		const options = this.#toChatOptions(how, findAsker(this.#store, how));
		const run = storeRun(this.#store, given, how, { ...this.#host, model: options.model });
		return this.#prepare(run, options);
	}

	/** Starts a run that is stored. */
	start(work: Work): LiveRun {
		const live = this.#carryOut(work);
		void this.alarm.set();
		this.tellOwner();
		return live;
	}

	/** Stores a file of the session. What it held before may be in the bucket, which the outbox empties. */
	async writeFile(path: string, body: Bytes, condition: IfMatch): Promise<WrittenFile> {
		await this.owner.assertRoom(this.#store.session());
		return this.files.write(path, body, condition).finally(() => this.tellOwner());
	}

	/** Removes a file of the session. */
	removeFile(path: string, condition: IfMatch): void {
		this.files.remove(path, condition);
		this.tellOwner();
	}

	/** Removes the message that will begin a run. Throws `not_found` where none waits for it. */
	removeWaiting(runId: string): void {
		this.#store.transaction(() => this.waiting.drop([this.waiting.find(runId)]))();
		void this.alarm.set();
	}

	/**
	 * Stops the run that goes on, or that waits for somebody, and drops the messages that wait. Throws
	 * `storage_unavailable` where that cannot be stored: what ran is stopped all the same.
	 */
	async cancel(): Promise<void> {
		const cancelling = this.#live?.cancel();
		cancelling?.catch(() => {});
		this.#store.transaction(() => {
			if (cancelling === undefined) this.#cancelWaiting();
			if (this.#store.exists()) leaveChildren(this.#store, { all: true });
			return this.waiting.drop();
		})();
		if (cancelling !== undefined) await cancelling;
		else if (this.#store.exists()) {
			void this.alarm.set();
			this.tellOwner();
		}
		await this.owner.outbox.settleChildren();
	}

	/** Stops what runs, removes everything, and tells others what they are still owed. */
	async remove(): Promise<void> {
		this.outside.stop();
		await this.cancel();
		void this.#connections.close();
		// Set before it is needed: nobody else comes back for what a removed session owes.
		await this.#store.alarm.set(Date.now() + alarmAgainMs);
		this.#store.erase(Date.now());
		await this.owner.outbox.sendRest();
	}

	/**
	 * Handles the object's alarm: takes up what should go on, and tells others what they are owed. It waits for no model.
	 * Returns what is left to the object: to remove a session that has expired. Throws where the storage fails.
	 */
	async handleAlarm(): Promise<Next> {
		if (this.#store.exists()) this.#store.reports.lookBack();
		let next = this.goOn();
		if (next.state === 'expired') {
			// The end of dropped messages may have to be told first, and the session stays for that.
			this.#store.transaction(() => this.waiting.drop())();
			next = this.#decide();
		}
		if (next.state === 'importing') await this.alarm.set();
		if (next.action.type !== 'none' || !this.#store.exists()) return next;
		if (this.#live === undefined) this.#store.spending.endLease();
		// The platform repeats an alarm that a crash cuts off.
		await Promise.all([this.#callbacks.send(), this.owner.outbox.send(Date.now())]);
		if (this.#store.exists() && !(await this.alarm.set())) throw new Error('the next alarm is not set');
		return next;
	}

	/** Delivers the outbox at once. What fails is left to the alarm. */
	tellOwner(): void {
		this.#store.reports.noteBytes();
		runInBackground(async () => {
			await this.owner.outbox.send();
			if (this.#live === undefined && this.#store.exists()) void this.alarm.set();
		});
	}

	/** Returns the state of the session's budget. */
	budget(): BudgetState {
		return readBudgetState(this.#store, findLimit(this.#options));
	}

	get #host() {
		return { boot: this.boot, files: this.files };
	}

	#decide(): Next {
		return decideNext(readFacts(this.#store, this.#options.runtime.agents, this.#live !== undefined), Date.now());
	}

	/** Takes up a run of an earlier instance, or ends the run if that fails. */
	#takeUp(run: RunRecord, attempt: Attempt): void {
		try {
			const options = this.#toChatOptions(run);
			const work = this.#store.transaction(() => {
				const taken = takeUp(this.#store, run, attempt, this.boot);
				return this.#prepare(taken.record, options, taken);
			});
			this.#carryOut(work);
			void this.alarm.set();
		} catch (thrown) {
			if (isStorageError(thrown)) throw thrown;
			log('error', 'run.not_taken_up', { 'runlet.run.id': run.id, ...toFailureFields(thrown) });
			this.#giveUp(run, toFailure(toRunletError(thrown)));
		}
	}

	#giveUp(run: RunRecord, event: TerminalEvent): void {
		this.#store.transaction(() => giveUp(this.#store, run, event));
		void this.alarm.set();
		reportLostRun(this.#options, run);
		void this.#toCrashPoints(run.n)('ended');
	}

	/** Begins the run of the oldest waiting message. If that fails, its run has failed. */
	#beginNext(): void {
		const waited = this.#store.queue.first();
		if (waited === undefined) return;
		const { id, message, inbound, model, callback } = waited;
		try {
			this.waiting.show(id, this.begin([message], { model, inbound, callback, waited }));
		} catch (thrown) {
			if (isStorageError(thrown)) throw thrown;
			const event = toFailure(toRunletError(thrown));
			const run = storeFailedRun(this.#store, waited, event, this.#host);
			void this.alarm.set();
			reportRun(this.#options, run, { event, tally: new RunCounter().tally, transport: inbound?.transport });
			this.waiting.show(id, createPastRun(this.#store, run.n) ?? createUnbegunRun(run.n, run.id, event));
		}
	}

	/** Ends a run that waits for somebody. The next run answers its open calls as not run. */
	#cancelWaiting(): void {
		const run = this.#store.runs.get();
		const event = { type: 'cancelled' } as const;
		// This one was stored and not begun, because its history could not be read.
		if (run?.status === 'running') giveUp(this.#store, run, event);
		else if (run?.end?.event.type === 'awaiting') {
			this.#store.runs.end(run.n, 'cancelled', { ...run.end, event }, Date.now());
			this.#store.reports.noteActivity(true, Date.now());
		}
	}

	#prepare(
		run: RunRecord,
		options: ReturnType<typeof createChatOptions>,
		taken?: Parameters<typeof prepareRun>[2],
	): Work {
		const context = {
			store: this.#store,
			files: this.files,
			options,
			limit: () => findLimit(this.#options),
			sessions: () => this.#options.config().sessions,
			ledger: this.owner.ledger(),
			atCrashPoint: this.#toCrashPoints(run.n),
			onWaiting: findAgent(this.#options.runtime.agents, this.#store.session().agent).onWaiting,
			onSteered: (id: number) => this.#live && this.waiting.show(id, this.#live),
			onEnded: (ended: Ended) => {
				void this.alarm.set();
				if (ended.event.type === 'error') noteShortage(this.#store, this.#options.config().shortages);
				reportRun(this.#options, run, ended);
			},
		};
		return prepareRun(context, run, taken);
	}

	#carryOut(work: Work): LiveRun {
		const live = carryOut(work);
		this.#live = live;
		const goOn = (): void => {
			if (this.#live === live) this.#live = undefined;
			// What fails now is left to the alarm.
			runInBackground(async () => endLeaseEarly(this.goOn(), this.#store, this.#options.config()));
			this.tellOwner();
		};
		live.ended.then(goOn, goOn);
		live.ended.then(({ type }) => this.#connections.rest(type)).catch(() => {});
		return live;
	}

	#toCrashPoints(n: number): AtCrashPoint {
		return createCrashPoints(this.#options.runtime.crashPoint, this.#store.session().id, n);
	}

	#toChatOptions(
		{ model, ...asked }: Pick<RunRecord, 'model' | 'maxOutputTokens' | 'toolChoice' | 'terms'>,
		askedBy?: Actor,
	) {
		const { maxOutputTokens, toolChoice, terms } = asked;
		const session = this.#store.session();
		const about = { ...session, model: model ?? session.model, maxOutputTokens, toolChoice, terms };
		const resources = { connections: this.#connections.take(), store: this.#store, askedBy };
		return createChatOptions(this.#options.runtime, this.#options.config(), about, resources);
	}
}

function toFailure({ code, message, data }: RunletError): TerminalEvent {
	return { type: 'error', code, message, ...(data !== undefined && { data }) };
}
