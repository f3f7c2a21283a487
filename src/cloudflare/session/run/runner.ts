import {
	type ChatOptions,
	type Message,
	messageText,
	type RunEvent,
	resolveRegistration,
	type TerminalEvent,
} from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/resumption.ts';
import { type RunletError, toRunletError } from '../../../core/ground/errors.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import { type AtCrashPoint, createCrashPoints } from '../../agent/crash.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import type { BudgetState, Limit } from '../../rpc/budget.ts';
import type { Once, RunTerms } from '../../rpc/session.ts';
import { RunLog } from '../events/log.ts';
import { replay } from '../events/replay.ts';
import { type Inbound, InboundContext } from '../store/inbound.ts';
import { findOpenCalls, listApprovedCalls, listQuestions } from '../store/pending.ts';
import type { Waiting } from '../store/queue.ts';
import { findRunMessages } from '../store/run-messages.ts';
import type { RunRecord } from '../store/runs.ts';
import { canTakeNext, sessionStatus, toRunStatus } from '../store/status.ts';
import { isStorageError } from '../store/storage.ts';
import type { SessionStore } from '../store/store.ts';
import { Alarm } from './alarm.ts';
import { Callbacks } from './callbacks.ts';
import { chargeLost } from './charge.ts';
import { createChatOptions, readHistory } from './chat-options.ts';
import { createPastRun, createRunId, createUnbegunRun, type LiveRun } from './live-run.ts';
import { createSessionMeter, readBudgetState } from './meter.ts';
import { RunCounter, type RunTally, report } from './metrics.ts';
import { Owner, runInBackground } from './owner.ts';
import { Queue } from './queue.ts';
import { createUnknownResults, giveUp, takeUp } from './recovery.ts';
import { carryOut, type Work } from './run.ts';

/** What a session runs with. */
export interface RunnerOptions {
	readonly runtime: Runtime;
	readonly store: SessionStore;
	/** The environment, read when it is needed: what is wrong with it is the failure of one run. */
	readonly config: () => Config;
}

/** What holds for a run that begins. */
export interface BeginOptions {
	/** The model from now on. */
	readonly model?: string;
	/** After how many turns it stops. */
	readonly stopAfter?: number;
	/** The longest reply that its client wants, in tokens. */
	readonly maxOutputTokens?: number;
	/** Which tool its client wants called first. */
	readonly toolChoice?: ChatOptions['toolChoice'];
	readonly terms?: RunTerms;
	/** The request that it answers. */
	readonly once?: Once;
	/** Calls that were allowed. */
	readonly approved?: readonly ToolCall[];
	/** Where the message came from that it begins with; of several the last. */
	readonly inbound?: Inbound;
	/** The place of the message whose place is taken by what is given, with all behind it. */
	readonly replaces?: number;
	/** Where its end is told. */
	readonly callback?: string;
	/** The message that waited for it. */
	readonly waited?: Waiting;
}

/**
 * Runs a session's runs, one at a time: begins them, takes up one that died with the object's last life, and begins the
 * next message that waits. What has to be known for that is in the store; in memory is only the run that goes on.
 */
export class Runner {
	readonly #options: RunnerOptions;
	readonly #store: SessionStore;
	/** Tells this life of the object from those before it. */
	readonly #boot = crypto.randomUUID();
	readonly #alarm: Alarm;
	readonly queue: Queue;
	readonly owner: Owner;
	readonly #callbacks: Callbacks;
	#live: LiveRun | undefined;

	constructor(options: RunnerOptions) {
		const { store, config, runtime } = options;
		this.#options = options;
		this.#store = store;
		this.#alarm = new Alarm(store, runtime.agents);
		this.queue = new Queue(store);
		this.owner = new Owner(store, config);
		this.#callbacks = new Callbacks(store, config);
	}

	/** The run that goes on. */
	get live(): LiveRun | undefined {
		return this.#live;
	}

	/**
	 * Sets an alarm for a session that is about to be created. An alarm that finds no session is gone with that; a session
	 * without one would never expire, and its owner's list might never hear of it. Throws where the storage fails.
	 */
	announce(): Promise<void> {
		return this.#alarm.announce();
	}

	/** The session was created without a message: it is listed, and may expire. */
	created(): void {
		this.#tell();
	}

	/**
	 * Does what the store says comes next: takes up a run that died, begins the message that waits longest. Asked by a new
	 * life of the object, by its alarm, and after each run. Throws where the storage fails; then it is to be asked again.
	 */
	goOn(): void {
		if (this.#live !== undefined || !this.#store.exists()) return;
		const run = this.#store.runs.get();
		if (run?.status === 'running') this.#takeUp(run);
		this.#beginNext();
		if (!this.owner.outbox.isEmpty) this.#tell();
	}

	/**
	 * Stores what a run begins with and the run together, then lets it go: a message, the answers to calls, or nothing
	 * where a run that failed is taken up. Calls that an earlier run had begun when it was cut off are answered as
	 * unknown. Throws before anything is stored.
	 */
	begin(given: readonly Message[], how: BeginOptions = {}): LiveRun {
		return this.#store.transaction(() => this.storeRun(given, how))();
	}

	/** The first half of `begin`, inside a transaction of the caller's: call what it gives once that is committed. */
	storeRun(given: readonly Message[], how: BeginOptions = {}): () => LiveRun {
		const { model, stopAfter, maxOutputTokens, toolChoice, terms, once, approved = [] } = how;
		const { inbound, replaces, callback, waited } = how;
		return this.#store.transaction(() => {
			const options = this.#optionsOn({ model, maxOutputTokens, toolChoice, terms });
			const input = [...(replaces === undefined ? this.#unknownResults() : []), ...given];
			const { messages, calls, runs, deliveries, callbacks, queue } = this.#store;
			if (replaces !== undefined) this.#store.replace(replaces);
			if (model !== undefined) this.#store.chooseModel(model);
			const createdAt = Date.now();
			const isNew = this.#store.session().title === undefined;
			if (isNew) this.#store.setTitle(toTitle(given));
			this.#store.noteActivity(isNew, createdAt);
			const n = this.nextRun;
			const isAsked = input.some(({ role }) => role !== 'tool');
			const run = runs.begin({
				n,
				id: waited?.runId ?? createRunId(),
				model: options.model,
				stopAfter,
				maxOutputTokens,
				toolChoice,
				terms,
				boot: this.#boot,
				firstSeq: isAsked ? messages.nextPlace() : messages.lastTurn(),
				createdAt,
			});
			for (const call of approved) calls.note(messages.lastTurn(), call, 'allowed', createdAt);
			for (const message of input) {
				const more = message === given.at(-1) ? { inbound, replaces } : {};
				messages.add(n, message, createdAt, { input: true, ...more });
			}
			if (once !== undefined) deliveries.add(once, { run: n }, createdAt);
			if (waited !== undefined) queue.remove(waited.id);
			if (waited?.key !== undefined) deliveries.endWaiting(waited.key, n);
			if (callback !== undefined) callbacks.add({ run: n, runId: run.id, url: callback });
			const carryOut = this.#prepare(run, options);
			return () => {
				void this.#alarm.watch();
				this.#tell();
				return carryOut();
			};
		});
	}

	/**
	 * Stops the run that goes on, or that waits for somebody, and drops the messages that wait. Throws
	 * `storage_unavailable` where that cannot be stored: what ran is stopped all the same.
	 */
	async cancel(): Promise<void> {
		const cancelling = this.#live?.cancel();
		cancelling?.catch(() => {});
		const tellDropped = this.#store.transaction(() => {
			if (cancelling === undefined) this.#cancelWaiting();
			return this.queue.drop();
		});
		tellDropped();
		if (cancelling !== undefined) await cancelling;
		else if (this.#store.exists()) void this.#setAlarm();
	}

	/**
	 * The object's alarm: keeps watch while a run is open, takes up what should go on, and calls back. It waits for no
	 * model. Whether the session has expired. Throws where the storage fails.
	 */
	async alarm(): Promise<boolean> {
		if (!this.#store.exists()) return false;
		this.goOn();
		if (this.#live === undefined && this.#alarm.isDue()) {
			// Who waits for what begins no more may want to be told so, and the session stays for that.
			this.#store.transaction(() => this.queue.drop())();
			if (this.#alarm.isDue()) return true;
		}
		// An alarm that a crash cuts off comes again.
		await Promise.all([this.#callbacks.send(), this.owner.outbox.send(Date.now())]);
		if (this.#store.exists() && !(await this.#setAlarm())) throw new Error('the next alarm is not set');
		return false;
	}

	/**
	 * Sets the alarm that the session needs where none stands: the platform gives up one that has failed too often.
	 * Whether it stands now. Never rejects.
	 */
	async renewAlarm(): Promise<boolean> {
		try {
			if (!this.#store.hasTables || (await this.#store.alarmAt()) !== undefined) return true;
		} catch (cause) {
			log('warn', 'alarm.not_read', toFailureFields(cause));
			return false;
		}
		return this.#setAlarm();
	}

	/** Where the session's budget stands. */
	budget(): BudgetState {
		return readBudgetState(this.#store, this.#limit());
	}

	/** The number of the next run. */
	get nextRun(): number {
		return (this.#store.runs.get()?.n ?? 0) + 1;
	}

	/** Tells others at once what they are owed; what cannot be told now the alarm tells. */
	#tell(): void {
		runInBackground(async () => {
			await this.owner.outbox.send();
			if (this.#live === undefined && this.#store.exists()) void this.#alarm.rest();
		});
	}

	#setAlarm(): Promise<boolean> {
		return this.#live === undefined ? this.#alarm.rest() : this.#alarm.watch();
	}

	/**
	 * Reads all that a run needs, in the transaction that stores it; what it gives lets the run go.
	 *
	 * @param taken a run that is taken up: what its readers were shown, and how it goes on.
	 */
	#prepare(
		record: RunRecord,
		options: ReturnType<typeof createChatOptions>,
		taken: { readonly events?: readonly RunEvent[]; readonly resume?: Resumption } = {},
	): () => LiveRun {
		const store = this.#store;
		const counter = new RunCounter(taken.events);
		const { id: sessionId, owner } = store.session();
		const history = readHistory(store, options);
		const inbound = new InboundContext(history, owner);
		const atCrashPoint = this.#toCrashPoints(record.n);
		const work: Work = {
			store,
			record,
			log: new RunLog(record.n, taken.events),
			counter,
			resume: taken.resume,
			inbound,
			sync: () => store.sync(),
			atCrashPoint,
			options: {
				...options,
				context: { sessionId, runId: record.id },
				skillContext: () => inbound.current,
				stopAfter: record.stopAfter,
				approved: listApprovedCalls(store),
				asked: listQuestions(store),
				takenIds: store.calls.listAskedIds(),
			},
			history: history.map(({ message }) => message),
			meter: createSessionMeter({
				store,
				record,
				atCrashPoint,
				limit: () => this.#limit(),
				computePrice: (model, tokens) => resolveRegistration({ ...options, model })?.computePrice?.(model, tokens),
				contextWindow: (model) => resolveRegistration({ ...options, model })?.contextWindow?.(model),
				owner: this.owner.ledger(),
			}),
			lastEvent: (event) => (event.type === 'done' ? { ...event, budget: { ...this.budget() } } : event),
			onSteered: (id) => {
				if (this.#live !== undefined) this.queue.begin(id, this.#live);
			},
			onEnd: (event) => {
				const asked = event.type === 'awaiting' ? (event.toolCalls ?? []) : [];
				for (const call of asked) store.calls.note(store.messages.lastTurn(), call, 'asked', Date.now());
				// Nothing is open but where a message could not be stored.
				chargeLost(store, store.runs.get(record.n)?.draft);
			},
			onEnded: (event, firstAt) => {
				void this.#alarm.rest();
				this.#report(record, { event, tally: counter.tally, transport: inbound.transport, firstAt });
			},
		};
		return () => this.#carryOut(work);
	}

	#carryOut(work: Work): LiveRun {
		const live = carryOut(work);
		this.#live = live;
		const goOn = (): void => {
			if (this.#live === live) this.#live = undefined;
			// What cannot be done now the alarm does.
			runInBackground(async () => this.goOn());
			this.#tell();
		};
		live.ended.then(goOn, goOn);
		return live;
	}

	/** For calls that the newest run had begun when it failed or was cancelled; one that waits for somebody has none. */
	#unknownResults(): readonly Message[] {
		const run = this.#store.runs.get();
		if (run === undefined || !canTakeNext(sessionStatus(run.status))) return [];
		return createUnknownResults(findOpenCalls(this.#store));
	}

	/** A run of an earlier life of the object goes on, or ends where it cannot. */
	#takeUp(run: RunRecord): void {
		try {
			const options = this.#optionsOn(run);
			const goOn = this.#store.transaction(() => {
				const next = takeUp(this.#store, run, this.#boot);
				return next && this.#prepare(next.record, options, next);
			});
			if (goOn !== undefined) {
				void this.#alarm.watch();
				goOn();
			} else {
				void this.#alarm.rest();
				this.#reportLost(run);
				void this.#toCrashPoints(run.n)('ended');
			}
		} catch (thrown) {
			if (isStorageError(thrown)) throw thrown;
			log('error', 'run.not_taken_up', { 'runlet.run.id': run.id, ...toFailureFields(thrown) });
			this.#store.transaction(() => giveUp(this.#store, run, toFailure(toRunletError(thrown))));
			void this.#alarm.rest();
			this.#reportLost(run);
		}
	}

	/** The message that waited longest begins its run, if the session can take one. */
	#beginNext(): void {
		while (this.#live === undefined && canTakeNext(this.#store.status)) {
			const waited = this.#store.queue.first();
			if (waited === undefined) return;
			const { id, message, inbound, model, callback } = waited;
			try {
				this.queue.begin(id, this.begin([message], { model, inbound, callback, waited }));
			} catch (thrown) {
				if (isStorageError(thrown)) throw thrown;
				this.queue.begin(id, this.#refuse(waited, toFailure(toRunletError(thrown))));
			}
		}
	}

	/** A message that waited and cannot begin a run: it was accepted, so it is kept, and its run has failed. */
	#refuse(waited: Waiting, event: TerminalEvent): LiveRun {
		const { messages, runs, queue, deliveries, callbacks } = this.#store;
		const n = this.nextRun;
		this.#store.transaction(() => {
			const createdAt = Date.now();
			runs.begin({ n, id: waited.runId, boot: this.#boot, firstSeq: messages.nextPlace(), createdAt });
			messages.add(n, waited.message, createdAt, { input: true, inbound: waited.inbound });
			queue.remove(waited.id);
			if (waited.key !== undefined) deliveries.endWaiting(waited.key, n);
			runs.end(n, 'error', { before: [], draft: [], steps: 0, event }, createdAt);
			if (waited.callback !== undefined) callbacks.add({ run: n, runId: waited.runId, url: waited.callback });
		});
		void this.#alarm.rest();
		const record = runs.get(n);
		const { transport } = waited.inbound ?? {};
		if (record !== undefined) this.#report(record, { event, tally: new RunCounter().tally, transport });
		return createPastRun(this.#store, n) ?? createUnbegunRun(n, waited.runId, event);
	}

	/** A run that waited for somebody is over; its open calls are answered as not run when the conversation goes on. */
	#cancelWaiting(): void {
		const run = this.#store.runs.get();
		const event = { type: 'cancelled' } as const;
		// One that was stored and not begun, as its history could not be read.
		if (run?.status === 'running') giveUp(this.#store, run, event);
		if (run?.status !== 'awaiting_user' && run?.status !== 'awaiting_tools') return;
		const end = { before: [], draft: [], steps: 0, ...run.end, event };
		this.#store.runs.end(run.n, 'cancelled', end, Date.now());
	}

	/** Tells of a run that ended where its last life had left it. */
	#reportLost({ n, firstSeq }: RunRecord): void {
		const record = this.#store.runs.get(n);
		if (record?.end === undefined) return;
		const stored = findRunMessages(this.#store, n, firstSeq);
		const { tally } = new RunCounter(replay(record, stored));
		const { transport } = stored.findLast(({ inbound }) => inbound !== undefined)?.inbound ?? {};
		this.#report(record, { event: record.end.event, tally, transport });
	}

	/** Tells of a run that has ended, once that is stored. Never throws: a run does not fail because it is not counted. */
	#report(
		{ n, id: run, model, attempt: lives, createdAt }: RunRecord,
		{ event, tally, transport, firstAt }: Ended,
	): void {
		try {
			const { id: session, owner, agent } = this.#store.session();
			const { runtime } = this.#options;
			const config = this.#options.config();
			const named = resolveRegistration({ model: model ?? '', providers: runtime.providers(config) })?.variant;
			const facts = { session, run, owner, agent, model: model ?? '', status: toRunStatus(event), event, lives };
			const firstEventMs = lives > 1 || firstAt === undefined ? undefined : firstAt - createdAt;
			const times = { durationMs: Date.now() - createdAt, firstEventMs };
			const provider = tally.usage.provider ?? named ?? '';
			const { usd } = this.#store.spending.getRun(n);
			report({ ...facts, ...times, ...tally, provider, usd, transport: transport ?? 'http' }, config.metrics);
		} catch (cause) {
			log('warn', 'run.not_reported', { 'runlet.run.id': run, ...toFailureFields(cause) });
		}
	}

	#toCrashPoints(n: number): AtCrashPoint {
		return createCrashPoints(this.#options.runtime.crashPoint, this.#store.session().id, n);
	}

	#optionsOn({ model, ...asked }: Pick<RunRecord, 'model' | 'maxOutputTokens' | 'toolChoice' | 'terms'>) {
		const { maxOutputTokens, toolChoice, terms } = asked;
		const session = this.#store.session();
		const about = { ...session, model: model ?? session.model, maxOutputTokens, toolChoice, terms };
		return createChatOptions(this.#options.runtime, this.#options.config(), about);
	}

	#limit(): Limit {
		const { budget, agent } = this.#store.session();
		const own = budget ?? this.#options.runtime.agents.find(({ name }) => name === agent)?.budget;
		return own ?? this.#options.config().sessionBudget;
	}
}

/** How a run ended, and what is told of it. */
interface Ended {
	readonly event: TerminalEvent;
	readonly tally: RunTally;
	readonly transport: string | undefined;
	/** When the model's first event came, in milliseconds since 1970. */
	readonly firstAt?: number;
}

/** Characters of a session's title: the beginning of its first message. */
const titleLength = 80;

/** What the person wrote, without what came with it. */
function toTitle(input: readonly Message[]): string {
	const texts = input.map((message) => {
		const parts = 'parts' in message ? message.parts : undefined;
		return parts?.find(({ kind }) => kind === 'text')?.text ?? messageText(message);
	});
	return texts.join(' ').trim().slice(0, titleLength);
}

function toFailure({ code, message, data }: RunletError): TerminalEvent {
	return { type: 'error', code, message, data };
}
