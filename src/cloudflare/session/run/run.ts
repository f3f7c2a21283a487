import { isDelta, isSideEvent, isTerminal } from '../../../core/chat/event.ts';
import type { ChatOptions, Message, SideEvent, TerminalEvent } from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/resumption.ts';
import { startRun } from '../../../core/chat/run.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { AtCrashPoint } from '../../agent/crash.ts';
import { toFailureFields, log as writeLog } from '../../log.ts';
import { createCallSorter } from '../events/call-order.ts';
import type { RunLog } from '../events/log.ts';
import { dropText, longestPart, shortenRunEnd } from '../store/run-end.ts';
import { toRunStatus } from '../store/status.ts';
import { isStorageError } from '../store/storage.ts';
import { createDrafts } from './draft.ts';
import { createJournal, type JournalOptions } from './journal.ts';
import type { LiveRun } from './live-run.ts';
import type { RunCounter } from './metrics.ts';

/** What a run is carried out with. */
export interface Work extends JournalOptions {
	readonly options: ChatOptions;
	readonly history: readonly Message[];
	/** Where its events go; those that were shown before are in it. */
	readonly log: RunLog;
	/** What they add up to. */
	readonly counter: RunCounter;
	/** Where it is taken up. */
	readonly resume?: Resumption;
	/** Its last event as it is shown. */
	readonly lastEvent: (event: TerminalEvent) => TerminalEvent;
	/** What is written together with its end. */
	readonly onEnd: (event: TerminalEvent) => void;
	/** Told once that is written. @param firstAt when the model's first event came, in milliseconds since 1970 */
	readonly onEnded: (event: TerminalEvent, firstAt: number | undefined) => void;
	readonly atCrashPoint: AtCrashPoint;
}

/** The pauses between two tries to store an end, in milliseconds: the first one, doubled up to the last. */
const [firstPause, longestPause] = [100, 2_000];

/** Who cancels a run whose end cannot be stored is told so after this many milliseconds. */
const patienceMs = 3_000;

/**
 * Carries out a run: the loop's messages go to the store before its next step, its events to the log, its end to both
 * (docs/runs.md, "What a run writes"). The run belongs to the object: readers come and go. It begins once what it
 * begins with is durable: an object that dies of the run has counted that life.
 */
export function carryOut(work: Work): LiveRun {
	const { store, record, options, log, counter, resume, sync, atCrashPoint } = work;
	const stop = new AbortController();
	/** Who waits for the end, and since when. */
	const waiting = new Map<(error: RunletError) => void, number>();
	let tryNow = (): void => {};
	let firstAt: number | undefined;
	const said: SideEvent[] = [];
	const journal = createJournal(work);
	const drafts = createDrafts(work, journal);

	const end = (event: TerminalEvent, isShort: boolean): void => {
		const before = isShort ? [] : said.slice(journal.sides);
		const draft = isShort ? [] : log.draft(longestPart);
		const { restarts } = journal;
		const stored = shortenRunEnd({ before, draft, restarts, steps: log.steps, event: dropText(event) });
		store.transaction(() => {
			store.runs.assertOpen(record);
			store.runs.end(record.n, toRunStatus(event), stored, Date.now());
			work.onEnd(event);
		});
	};
	/** Stores the end until it is durable, however long that takes; only then is anybody told. */
	const conclude = async (given: TerminalEvent): Promise<TerminalEvent> => {
		let event = given;
		let isShort = false;
		let isWritten = false;
		for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
			try {
				if (!isWritten) {
					event = work.lastEvent(event);
					end(event, isShort);
				}
				isWritten = true;
				await sync();
				break;
			} catch (cause) {
				writeLog('error', 'run.end_not_stored', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
				if (!isStorageError(cause)) {
					if (isShort) {
						// Nobody is told of an end that is not stored: who waits for it comes back to what becomes of the run.
						log.leave();
						throw endNotStored(cause);
					}
					// It may be the end itself that cannot be stored.
					isShort = true;
					event = notStored(cause);
					continue;
				}
				for (const [fail, since] of waiting) if (performance.now() - since > patienceMs) fail(cause);
				await new Promise<void>((resolve) => {
					tryNow = resolve;
					setTimeout(resolve, pause);
				});
			}
		}
		counter.add([event]);
		work.onEnded(event, firstAt);
		await atCrashPoint('ended');
		log.append([event]);
		return event;
	};
	const follow = async (): Promise<TerminalEvent> => {
		if (resume !== undefined) {
			await sync();
			await atCrashPoint('taken-up');
		}
		const run = startRun({ ...options, ...journal.hooks, signal: stop.signal }, work.history, { resume });
		const inOrder = createCallSorter();
		for await (const given of run.batches()) {
			const batch = inOrder(given);
			for (const event of batch) if (isSideEvent(event)) said.push(event);
			if (firstAt === undefined && batch.some(isDelta)) firstAt = Date.now();
			const final = batch.find(isTerminal);
			const shown = final === undefined ? batch : batch.slice(0, -1);
			counter.add(shown);
			log.append(shown);
			if (final !== undefined) return final;
			drafts.change(shown);
		}
		throw new Error('The run ended without saying how.');
	};
	const ended = follow()
		.catch((cause: unknown) => {
			writeLog('error', 'run.broke_off', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
			stop.abort();
			return notStored(cause);
		})
		.finally(drafts.stop)
		.then(conclude);
	ended.catch(() => {});
	const cancel = async (): Promise<TerminalEvent> => {
		stop.abort();
		tryNow();
		return Promise.race([ended, new Promise<never>((_, fail) => waiting.set(fail, performance.now()))]);
	};
	return { record, log, ended, cancel };
}

function notStored(cause: unknown): TerminalEvent {
	if (isStorageError(cause))
		return { type: 'error', code: cause.code, message: cause.message, data: { ...cause.data } };
	const message = 'The run could not be stored. Send the message again.';
	return { type: 'error', code: 'internal', message };
}

/** What is said to who waits for a run that goes on, as its end could not be stored. */
function endNotStored(cause: unknown): RunletError {
	const message =
		'The end of the run could not be stored, so it is taken up again. Send the request once more under its Idempotency-Key to join it, or follow its events.';
	return new RunletError('storage_unavailable', message, { retryAfter: 2 }, { cause });
}
