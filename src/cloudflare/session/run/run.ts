import { RunletError } from '../../../core/base/errors.ts';
import { createDeferred, type Deferred } from '../../../core/base/promises.ts';
import { isDelta, isSideEvent, isTerminal, joinDeltas } from '../../../core/chat/event.ts';
import type { ChatOptions, Message, SideEvent, TerminalEvent } from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/loop.ts';
import { startRun } from '../../../core/chat/run.ts';
import type { AtCrashPoint } from '../../agent/runtime.ts';
import { toFailureFields, log as writeLog } from '../../log.ts';
import { isStorageError } from '../../objects/storage.ts';
import { createCallSorter, RunLog } from '../events/log.ts';
import { createPastLog } from '../events/replay.ts';
import type { QueuedMessage } from '../store/inbound.ts';
import { findLastReply } from '../store/messages.ts';
import { type Draft, dropText, longestPart, type RunRecord, restoreText, shortenRunEnd } from '../store/runs.ts';
import { toRunStatus } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';
import { createDrafts, type Journal, type JournalOptions } from './journal.ts';
import type { RunCounter } from './metrics.ts';
import { inSpan } from './span.ts';

/** A run that this object carries out now, or a finished run in the same form. */
export interface LiveRun {
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	readonly log: RunLog;
	/** Resolves with the run's end when it is stored. Rejects with `storage_unavailable` if storing fails for good. */
	readonly ended: Promise<TerminalEvent>;
	/** Stops the run, which ends as `cancelled`. Throws `storage_unavailable` if storing the end takes too long. */
	readonly cancel: () => Promise<TerminalEvent>;
}

export function createRunId(): string {
	return `run_${crypto.randomUUID()}`;
}

/** Creates an unstored run that ended before it began. Its readers continue with the run after `n`. */
export function createUnbegunRun(n: number, id: string, event: TerminalEvent): LiveRun {
	return toPastRun({ n, id }, new RunLog(n, [event]), event);
}

function toPastRun(record: LiveRun['record'], log: RunLog, event: TerminalEvent): LiveRun {
	return { record, log, ended: Promise.resolve(event), cancel: async () => event };
}

/** Rebuilds a finished run from the store. Returns nothing if the run has not ended. */
export function createPastRun(store: SessionStore, n: number): LiveRun | undefined {
	const record = store.runs.get(n);
	const event = record?.end?.event;
	if (record === undefined || event === undefined) return undefined;
	const last = findLastReply(store.findRunMessages(n, record.firstSeq), n);
	return toPastRun(record, createPastLog(store, n), restoreText(event, last));
}

export interface Work extends Pick<JournalOptions, 'store' | 'record' | 'sync' | 'meter'> {
	/** The options of the loop, with the hooks of the journal and the signal of `stop`. */
	readonly options: ChatOptions;
	/** The conversation, deeply frozen. */
	readonly history: readonly Message[];
	readonly journal: Journal;
	readonly log: RunLog;
	readonly counter: RunCounter;
	readonly stop: AbortController;
	readonly resume?: Resumption;
	/** Completes the last event before it is stored. */
	readonly lastEvent: (event: TerminalEvent) => TerminalEvent;
	readonly onEnd: (event: TerminalEvent) => void;
	/** Called when the end is durable. `firstAt` is the time of the model's first event, in milliseconds since 1970. */
	readonly onEnded: (event: TerminalEvent, firstAt: number | undefined) => void;
	readonly atCrashPoint: AtCrashPoint;
}

/**
 * Carries out a run (docs/runs.md, "What a run writes"): stores the loop's messages before the loop's next step,
 * and shows its events. The run does not depend on its readers. An interrupted run is resumed only when its next
 * attempt is durable. So an attempt that kills the object is counted.
 */
export function carryOut(work: Work): LiveRun {
	const { store, record, log, stop } = work;
	const { id, agent } = store.session();
	const save = (draft: Draft): void => store.runs.draft(record.n, draft);
	const drafts = createDrafts({ ...work, save }, log, work.journal);
	const shown: ShownEvents = { sides: [] };
	const end = new RunEnding(work, shown);
	const attributes = {
		'gen_ai.operation.name': 'invoke_agent',
		'gen_ai.agent.name': agent,
		'gen_ai.conversation.id': id,
		'runlet.run.id': record.id,
	};
	const ended = inSpan({ name: `invoke_agent ${agent}`, attributes }, () => followLoop(work, drafts, shown))
		.catch((cause: unknown) => {
			writeLog('error', 'run.broke_off', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
			stop.abort();
			return toStorageFailure(cause);
		})
		.finally(drafts.stop)
		.then((event) => end.store(event));
	ended.catch(() => {});
	const cancel = async (): Promise<TerminalEvent> => {
		stop.abort();
		return Promise.race([ended, end.failWhenLate()]);
	};
	return { record, log, ended, cancel };
}

interface ShownEvents {
	readonly sides: SideEvent[];
	/** The time of the model's first event, in milliseconds since 1970. */
	firstAt?: number;
}

/** Shows the loop's events as they arrive. Returns the last event, which is shown only when it is stored. */
async function followLoop(
	{ log, journal, counter, resume, sync, atCrashPoint, options, history }: Work,
	drafts: ReturnType<typeof createDrafts>,
	shown: ShownEvents,
): Promise<TerminalEvent> {
	if (resume !== undefined) {
		await sync();
		await atCrashPoint('taken-up');
	}
	const { read, result } = startRun(options, history, { resume, isFrozen: true });
	const take = read();
	const over = result.then(
		() => {},
		() => {},
	);
	const sortCalls = createCallSorter();
	for (let next = await take(); next !== undefined; next = await take()) {
		const batch = joinDeltas(sortCalls(next));
		for (const event of batch) if (isSideEvent(event)) shown.sides.push(event);
		if (shown.firstAt === undefined && batch.some(isDelta)) shown.firstAt = Date.now();
		const final = batch.find(isTerminal);
		const events = final === undefined ? batch : batch.slice(0, -1);
		// A turn is durable before its end is shown. The last turn is stored together with the run's end.
		const stored = final === undefined ? journal.sync() : undefined;
		if (stored !== undefined) await Promise.race([stored, over]);
		counter.add(events);
		log.append(events);
		if (final !== undefined) return final;
		drafts.change(events);
	}
	throw new Error('The run ended without saying how.');
}

/** The first and the longest pause between two tries to store an end, in milliseconds. The pause doubles each time. */
const [firstPause, longestPause] = [100, 2_000];

/** How long a cancelling request waits for an end that cannot be stored, in milliseconds. */
const patienceMs = 3_000;

/** Stores the end of a run, without a time limit. The end is shown once it is durable. */
class RunEnding {
	readonly #work: Work;
	readonly #shown: ShownEvents;
	/** The cancelling requests, and when each began to wait. */
	readonly #waiting = new Map<(error: RunletError) => void, number>();
	#tryNow = (): void => {};

	constructor(work: Work, shown: ShownEvents) {
		this.#work = work;
		this.#shown = shown;
	}

	/** Stores the event as the run's end and shows it. Throws `storage_unavailable` if storing fails for good. */
	async store(last: TerminalEvent): Promise<TerminalEvent> {
		const { counter, log, onEnded, atCrashPoint } = this.#work;
		const event = await this.#storeDurably(last);
		counter.add([event]);
		onEnded(event, this.#shown.firstAt);
		await atCrashPoint('ended');
		log.append([event]);
		return event;
	}

	/** Tries at once to store the end. Rejects with `storage_unavailable` when that takes too long. */
	failWhenLate(): Promise<never> {
		this.#tryNow();
		return new Promise((_, fail) => this.#waiting.set(fail, performance.now()));
	}

	async #storeDurably(last: TerminalEvent): Promise<TerminalEvent> {
		const { record, log, lastEvent, sync } = this.#work;
		let event = last;
		let isShort = false;
		let isWritten = false;
		for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
			try {
				if (!isWritten) {
					event = lastEvent(event);
					this.#write(event, isShort);
				}
				isWritten = true;
				await sync();
				return event;
			} catch (cause) {
				writeLog('error', 'run.end_not_stored', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
				if (isStorageError(cause)) {
					await this.#pause(pause, cause);
					continue;
				}
				if (isShort) {
					// Readers get no end event. The object's next instance resumes the run.
					log.leave();
					throw createEndNotStored(record.id, cause);
				}
				// The storage possibly refuses the content of the end, so the next try stores a short end.
				isShort = true;
				event = toStorageFailure(cause);
			}
		}
	}

	#write(event: TerminalEvent, isShort: boolean): void {
		const { store, record, log, journal, onEnd } = this.#work;
		const { restarts, sides } = journal;
		const before = isShort ? [] : this.#shown.sides.slice(sides);
		const draft = isShort ? [] : log.draft(longestPart);
		const end = shortenRunEnd({ before, draft, restarts, steps: log.steps, event: dropText(event) });
		store.transaction(() => {
			store.runs.assertOpen(record);
			store.runs.end(record.n, toRunStatus(event), end, Date.now(), store.reports.listedAt);
			onEnd(event);
		});
	}

	async #pause(pauseMs: number, cause: RunletError): Promise<void> {
		for (const [fail, since] of this.#waiting)
			if (performance.now() - since > patienceMs) fail(createEndNotStored(this.#work.record.id, cause));
		await new Promise<void>((resolve) => {
			this.#tryNow = resolve;
			setTimeout(resolve, pauseMs);
		});
	}
}

function toStorageFailure(cause: unknown): TerminalEvent {
	if (isStorageError(cause))
		return { type: 'error', code: cause.code, message: cause.message, data: { ...cause.data } };
	const message = 'The run could not be stored. Send the message again.';
	return { type: 'error', code: 'internal', message };
}

function createEndNotStored(run: string, cause: unknown): RunletError {
	const message =
		'The end of the run could not be stored yet, and the run goes on. Send the request once more under its Idempotency-Key to join it, or follow its events.';
	return new RunletError('storage_unavailable', message, { retryAfter: 2, run }, { cause });
}

export class WaitingRuns {
	readonly #store: SessionStore;
	readonly #readers = new Map<number, Deferred<LiveRun>>();

	constructor(store: SessionStore) {
		this.#store = store;
	}

	/** Resolves with the run that a queued message begins or steers. */
	wait(id: number): Promise<LiveRun> {
		const reader = this.#readers.get(id) ?? createDeferred<LiveRun>();
		this.#readers.set(id, reader);
		return reader.promise;
	}

	show(id: number, run: LiveRun): void {
		this.#readers.get(id)?.resolve(run);
		this.#readers.delete(id);
	}

	/** Finds the message that will begin a run. Throws `not_found` if there is none. */
	find(runId: string): QueuedMessage {
		const waiting = this.#store.queue.all().find((waiting) => waiting.runId === runId);
		if (waiting !== undefined) return waiting;
		throw new RunletError('not_found', 'This message does not wait: a run has taken it up, or it was removed.');
	}

	/** Drops messages within a transaction. Call the returned function after the commit: it ends waiting requests. */
	drop(dropped: readonly QueuedMessage[] = this.#store.queue.all()): () => void {
		const { queue, runs, callbacks } = this.#store;
		const n = runs.get()?.n ?? 1;
		for (const waiting of dropped) {
			const { runId, callback } = waiting;
			queue.take(waiting, undefined);
			if (callback !== undefined) callbacks.add({ run: 0, runId, url: callback });
		}
		return () => {
			for (const { id, runId } of dropped) this.show(id, createUnbegunRun(n, runId, { type: 'cancelled' }));
		};
	}
}
