import { isDelta, isSideEvent, isTerminal } from '../chat/event.ts';
import type { ChatOptions, Message, SideEvent, TerminalEvent } from '../chat/index.ts';
import type { Resumption } from '../chat/loop.ts';
import { start } from '../chat/run.ts';
import { failureFields, log as writeLog } from '../log.ts';
import { callsInOrder } from './calls-in-order.ts';
import type { AtCrashPoint } from './crash.ts';
import { drafting } from './draft.ts';
import type { JournalOptions } from './journal.ts';
import { journalOf } from './journal.ts';
import { RunLog } from './log.ts';
import type { RunCounter } from './metrics.ts';
import type { RunRecord } from './rows/run.ts';
import { runStatusOf } from './status.ts';
import { fitting, slim, tailLength } from './tail.ts';

/** A run that this object carries out now. */
export interface LiveRun {
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	readonly log: RunLog;
	/** Resolves with how it ended, once that is stored. Never rejects. */
	readonly ended: Promise<TerminalEvent>;
	/** Stops it at once; it ends as `cancelled`. */
	readonly cancel: () => void;
}

/** What a run is carried out with. */
export interface Work extends JournalOptions {
	readonly options: ChatOptions;
	readonly history: readonly Message[];
	/** Where its events go; those that were shown before are in it. */
	readonly log: RunLog;
	/** What they add up to. */
	readonly counter: RunCounter;
	/** Where it is taken up. */
	readonly resume?: Resumption | undefined;
	/** Its last event as it is shown. */
	readonly lastEvent: (event: TerminalEvent) => TerminalEvent;
	/** What is written together with its end. */
	readonly onEnd: (event: TerminalEvent) => void;
	/** Told once that is written. @param firstAt when the model's first event came, in milliseconds since 1970 */
	readonly onEnded: (event: TerminalEvent, firstAt: number | undefined) => void;
	readonly atCrashPoint: AtCrashPoint;
}

/**
 * Carries out a run: the loop's messages go to the store before its next step, its events to the log, its end to both
 * (hardening.md, "What a run writes, and when"). The run belongs to the object: readers come and go.
 */
export function carryOut(work: Work): LiveRun {
	const { store, record, options, log, counter, resume, atCrashPoint } = work;
	let firstAt: number | undefined;
	const said: SideEvent[] = [];
	const journal = journalOf(work);
	const drafts = drafting(work, journal);
	const run = start({ ...options, ...journal.hooks }, work.history, { resume });

	const end = (given: TerminalEvent): TerminalEvent => {
		const event = work.lastEvent(given);
		const { sides, restarts } = journal;
		const before = said.slice(sides);
		const tail = fitting({ before, draft: log.draft(tailLength), restarts, steps: log.steps, event: slim(event) });
		store.transaction(() => {
			store.runs.end(record.n, runStatusOf(event), tail, Date.now());
			work.onEnd(event);
		});
		counter.add([event]);
		work.onEnded(event, firstAt);
		return event;
	};
	const follow = async (): Promise<TerminalEvent> => {
		let last: TerminalEvent = { type: 'error', code: 'internal', message: 'The run ended without saying how.' };
		const inOrder = callsInOrder();
		for await (const given of run.batches()) {
			const batch = inOrder(given);
			for (const event of batch) if (isSideEvent(event)) said.push(event);
			if (firstAt === undefined && batch.some(isDelta)) firstAt = Date.now();
			const final = batch.find(isTerminal);
			const shown = final === undefined ? batch : batch.slice(0, -1);
			counter.add(shown);
			log.append(shown);
			if (final === undefined) drafts.changed(shown);
			else {
				last = end(final);
				await atCrashPoint('ended');
				log.append([last]);
			}
		}
		return last;
	};
	const failed = (cause: unknown): TerminalEvent => {
		writeLog('error', 'run.not_stored', { 'runlet.run.id': record.id, ...failureFields(cause) });
		run.abort();
		const message = 'The run could not be stored. Send the message again.';
		const event: TerminalEvent = { type: 'error', code: 'internal', message };
		try {
			store.runs.end(record.n, 'error', { before: [], draft: [], event }, Date.now());
			work.onEnd(event);
			work.onEnded(event, firstAt);
		} catch {
			// Not even this could be written; the object's next life takes the run up.
		}
		if (!log.ended) log.append([event]);
		return event;
	};
	return { record, log, ended: follow().catch(failed).finally(drafts.stop), cancel: run.abort };
}

export function newRunId(): string {
	return `run_${crypto.randomUUID()}`;
}

/** A run that ended before it began, and is in no row; who has read it stands behind the run `n`. */
export function runThatWasNot(n: number, id: string, event: TerminalEvent): LiveRun {
	return { record: { n, id }, log: new RunLog(n, [event]), ended: Promise.resolve(event), cancel: () => {} };
}
