import { type RunletError, toRunletError } from '../../../core/base/errors.ts';
import type { Message, TerminalEvent } from '../../../core/chat/index.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import { listToolWords } from '../../agent/labels.ts';
import { createCrashPoints } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import type { BudgetState } from '../../objects/budget.ts';
import type { IfMatch, WrittenFile } from '../../objects/file-api.ts';
import type { Bytes } from '../../objects/reach.ts';
import { isStorageError } from '../../objects/storage.ts';
import { SessionFiles } from '../files/session-files.ts';
import { readContents } from '../store/contents.ts';
import type { RunRecord } from '../store/runs.ts';
import { findShardsOfAll, type SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { type BeginOptions, createInterruption, denyLate, giveUp, storeFailedRun, storeRun, takeUp } from './begin.ts';
import { noteShortage, readBudgetState } from './budgets.ts';
import { Callbacks } from './callbacks.ts';
import { SessionLabels } from './labels.ts';
import { endLeaseEarly, Owner, runInBackground } from './lease.ts';
import { Connections, leaveChildren } from './load-tools.ts';
import { type EndedRun, RunCounter, reportLostRun, reportRun } from './metrics.ts';
import {
	Alarm,
	type Attempt,
	alarmAgainMs,
	decideNext,
	findLastUse,
	type Next,
	readFacts,
	type SessionFacts,
} from './next.ts';
import { OutsideCalls } from './outside-calls.ts';
import { cancelReply, ParkedRun } from './parking.ts';
import { findLimit, prepareRun, type RunnerOptions } from './prepare.ts';
import { carryOut, createPastRun, createUnbegunRun, type LiveRun, WaitingRuns, type Work } from './run.ts';
import type { SessionTraces } from './trace-exporter.ts';

/** Carries out a session's runs, one at a time. The stored rows decide what comes next (`decideNext`). */
export class Runner {
	readonly owner: Owner;
	readonly alarm: Alarm;
	readonly files: SessionFiles;
	readonly labels: SessionLabels;
	readonly outside: OutsideCalls;
	readonly waiting: WaitingRuns;
	readonly boot = crypto.randomUUID();
	readonly #options: RunnerOptions;
	readonly #store: SessionStore;
	readonly #callbacks: Callbacks;
	readonly #connections: Connections;
	readonly #traces: SessionTraces | undefined;
	readonly #parked = new ParkedRun();
	#live: LiveRun | undefined;

	constructor(options: RunnerOptions) {
		const { store, config, runtime } = options;
		this.#options = options;
		this.#store = store;
		this.alarm = new Alarm(store, () => this.#decide().wakeAt);
		this.files = new SessionFiles(store, config);
		this.labels = new SessionLabels(store, (agent) =>
			listToolWords(
				runtime.agents.find(({ name }) => name === agent),
				runtime.agents,
			),
		);
		this.owner = new Owner(store, config, {
			findText: () => (this.#hasSearch ? readContents(store) : undefined),
			findLabels: () => this.labels.all,
		});
		this.waiting = new WaitingRuns(store);
		this.#callbacks = new Callbacks(options);
		this.#traces = options.traces?.open({ ...options, labels: this.labels });
		this.#connections = new Connections(options.runtime, () => this.#live !== undefined || this.outside.isBusy);
		this.outside = new OutsideCalls({ ...options, files: this.files, connections: this.#connections });
	}

	get live(): LiveRun | undefined {
		return this.#live;
	}

	/**
	 * Performs the session's next actions, until there is none or only the alarm can perform the next one. Called by a
	 * new instance of the object, by its alarm and after each run. Throws if the storage fails: call it again then.
	 */
	goOn(): Next {
		const wasLive = this.#live !== undefined;
		this.#traces?.look(false);
		for (;;) {
			const next = this.#decide();
			const run = next.state === 'lost' ? this.#store.runs.get() : undefined;
			if (run !== undefined) this.#store.reports.lookBack();
			if (next.action.type === 'take-up' && run !== undefined) this.#takeUp(run, next.action.attempt);
			else if (next.action.type === 'give-up' && run !== undefined) this.#giveUp(run, createInterruption(run.attempt));
			else if (next.action.type === 'begin') this.#beginNext();
			else if (next.action.type === 'deny') denyLate(this.#store, (messages, how) => this.begin(messages, how));
			else {
				if (!wasLive && this.#store.exists()) {
					this.#store.joinAll(findShardsOfAll(this.#options.config(), this.#store.session()));
					if (!this.owner.outbox.isEmpty) this.tellOwner();
				}
				return next;
			}
		}
	}

	/** Stores and starts a run. If it throws, nothing is stored. */
	begin(messages: readonly Message[], how: BeginOptions = {}): LiveRun {
		return this.start(this.#store.transaction(() => this.storeRun(messages, how)));
	}

	/** Stores a run within a transaction. Pass the result to `start` after the commit. */
	storeRun(messages: readonly Message[], how: BeginOptions, config: Config = this.#options.config()): Work {
		const session = this.#store.session();
		const agent = findAgent(this.#options.runtime.agents, session.agent);
		const model = chooseModel(agent, how.model ?? session.model, config.model, session.rerun !== undefined);
		const run = storeRun(this.#store, messages, how, { ...this.#host, model, isNew: session.title === undefined });
		return this.#prepare(run, session, config);
	}

	start(work: Work): LiveRun {
		const live = this.#carryOut(work);
		void this.alarm.set();
		this.tellOwner();
		return live;
	}

	/** Stores a file of the session. The outbox removes the earlier content from the bucket. */
	async writeFile(path: string, body: Bytes, condition: IfMatch): Promise<WrittenFile> {
		await this.owner.assertRoom(this.#store.session(), this.#options.config());
		return this.files.write(path, body, condition).finally(() => this.tellOwner());
	}

	removeFile(path: string, condition: IfMatch): void {
		this.files.remove(path, condition);
		this.tellOwner();
	}

	/** Removes a waiting message by the id of its run. Throws `not_found` if no message waits for that run. */
	removeWaiting(runId: string): void {
		this.#store.transaction(() => this.waiting.drop([this.waiting.find(runId)]))();
		void this.alarm.set();
	}

	/**
	 * Cancels the current run and drops the waiting messages. Throws `storage_unavailable` if the cancellation
	 * cannot be stored. The run stops nevertheless.
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

	/** Cancels runs and calls, removes all rows, and delivers the outbox. */
	async remove(): Promise<void> {
		this.outside.stop();
		await this.cancel();
		void this.#connections.close();
		// Only the alarm retries the outbox of a removed session, so the alarm is set first.
		await this.#store.alarm.set(Date.now() + alarmAgainMs);
		this.#store.erase(Date.now());
		await this.owner.outbox.sendRest();
	}

	/**
	 * Handles the object's alarm: performs the next actions, and delivers callbacks and the outbox. Does not wait
	 * for a model. Returns the action that the object itself has to perform. Throws if the storage fails.
	 */
	async handleAlarm(): Promise<Next> {
		if (this.#store.exists()) {
			this.#store.reports.lookBack({ withText: this.#live === undefined && this.#hasSearch });
			this.#traces?.look(true);
		}
		this.#parked.wake(Date.now());
		let next = this.goOn();
		if (next.state === 'expired') {
			// The session stays until the callbacks of its dropped messages are delivered.
			this.#store.transaction(() => this.waiting.drop())();
			next = this.#decide();
		}
		if (next.state === 'importing' && next.action.type === 'none') await this.alarm.set();
		if (next.action.type !== 'none' || !this.#store.exists()) return next;
		if (this.#live === undefined) this.#store.spending.endLease();
		// The platform repeats an alarm that a crash interrupts.
		await Promise.all([this.#callbacks.send(), this.owner.outbox.send(Date.now()), this.#traces?.send(Date.now())]);
		if (this.#store.exists() && !(await this.alarm.set())) throw new Error('the next alarm is not set');
		return next;
	}

	/** Delivers the outbox at once. The alarm retries what fails. */
	tellOwner(): void {
		this.#store.reports.noteBytes();
		runInBackground(async () => {
			await this.owner.outbox.send();
			if (this.#live === undefined && this.#store.exists()) void this.alarm.set();
		});
	}

	/** Notes that somebody opened the session, exact to a hundredth of the time after which it is archived. */
	noteUse(): void {
		const { archiveAfterMs } = this.#options.config();
		if (archiveAfterMs === undefined || !this.#store.exists()) return;
		const now = Date.now();
		if (now - findLastUse(this.#readFacts()) > archiveAfterMs / 100) this.#store.noteUse(now);
	}

	budget(): BudgetState {
		const { runtime, store, config } = this.#options;
		return readBudgetState(store, findLimit(runtime, store, config()));
	}

	/** Whether searches find what is said in the session. */
	get #hasSearch(): boolean {
		if (!this.#store.exists()) return false;
		const { agent } = this.#store.session();
		return this.#options.runtime.agents.find(({ name }) => name === agent)?.searchContents === true;
	}

	get #host() {
		return { boot: this.boot, files: this.files };
	}

	#decide(): Next {
		return decideNext(this.#readFacts(), Date.now());
	}

	#readFacts(): SessionFacts {
		const [{ runtime, config }, now, isLive] = [this.#options, Date.now(), this.#live !== undefined];
		const { archiveAfterMs } = config();
		const traceAt = this.#store.exists() ? this.#traces?.nextAt(now) : undefined;
		const pollAt = this.#parked.dueAt;
		return readFacts(this.#store, runtime.agents, { isLive, traceAt, pollAt, archiveAfterMs });
	}

	/** Resumes a run of an earlier instance. Ends the run if that fails. */
	#takeUp(run: RunRecord, attempt: Attempt): void {
		try {
			const work = this.#store.transaction(() => {
				const resumed = takeUp(this.#store, run, attempt, this.boot);
				return this.#prepare(resumed.record, this.#store.session(), this.#options.config(), resumed);
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
		const begun = this.#store.begunReply;
		this.#store.transaction(() => giveUp(this.#store, run, event));
		const { runtime, config } = this.#options;
		if (begun !== undefined) runInBackground(async () => cancelReply(runtime.providers(config()), begun));
		void this.alarm.set();
		reportLostRun(this.#options, run);
		void createCrashPoints(this.#options.runtime.crashPoint, this.#store.session().id, run.n)('ended');
	}

	/** Begins the run of the oldest waiting message. Stores a failed run if that fails. */
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
			const { transport } = inbound ?? {};
			reportRun(this.#options, run, { event, tally: new RunCounter().tally, transport });
			this.waiting.show(id, createPastRun(this.#store, run.n) ?? createUnbegunRun(run.n, run.id, event));
		}
	}

	/** Cancels a run that waits for somebody. In the next run its open calls count as not run. */
	#cancelWaiting(): void {
		const run = this.#store.runs.get();
		const event = { type: 'cancelled' } as const;
		// The run was stored but not started, because its history could not be read.
		if (run?.status === 'running') giveUp(this.#store, run, event);
		else if (run?.end?.event.type === 'awaiting') {
			this.#store.runs.end(run.n, 'cancelled', { ...run.end, event }, Date.now());
			this.#store.callbacks.moveBack(run.n);
			this.#store.reports.noteActivity(true, Date.now());
		}
	}

	#prepare(run: RunRecord, session: SessionRecord, config: Config, resumed?: Parameters<typeof prepareRun>[2]): Work {
		const { runtime, store } = this.#options;
		const context = {
			runtime,
			config,
			session,
			store,
			labels: this.labels,
			files: this.files,
			connections: this.#connections.take(session, config),
			limit: () => findLimit(runtime, store, config),
			ledger: this.owner.ledger(session, config),
			atCrashPoint: createCrashPoints(runtime.crashPoint, session.id, run.n),
			park: () => {
				const waiting = this.#parked.wait(Date.now());
				void this.alarm.set();
				return waiting;
			},
			onSteered: (id: number) => this.#live && this.waiting.show(id, this.#live),
			onEnded: (ended: EndedRun) => {
				void this.alarm.set();
				if (ended.event.type === 'error') noteShortage(store, config.shortages);
				reportRun({ runtime, store, config: () => config }, run, ended);
			},
		};
		return prepareRun(context, run, resumed);
	}

	#carryOut(work: Work): LiveRun {
		const live = carryOut(work);
		this.#live = live;
		const goOn = (): void => {
			if (this.#live === live) this.#live = undefined;
			if (this.#hasSearch) this.#store.reports.noteText(Date.now());
			// The alarm tries again if this fails.
			runInBackground(async () => endLeaseEarly(this.goOn(), this.#store, this.#options.config()));
			this.tellOwner();
		};
		live.ended.then(goOn, goOn);
		live.ended.then(({ type }) => this.#connections.rest(type)).catch(() => {});
		return live;
	}
}

function toFailure({ code, message, data }: RunletError): TerminalEvent {
	return { type: 'error', code, message, ...(data !== undefined && { data }) };
}
