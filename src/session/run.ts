import { isTerminal } from '../chat/event.ts';
import type { ChatOptions, Message, RunEvent, TerminalEvent } from '../chat/index.ts';
import { start } from '../chat/run.ts';
import { RunLog } from './log.ts';
import { runStatusOf } from './status.ts';
import type { RunRecord, SessionStore } from './store.ts';

/** A run that this object carries out now. */
export interface LiveRun {
	readonly record: RunRecord;
	readonly log: RunLog;
	/** Resolves with how it ended, once that is stored. Never rejects. */
	readonly ended: Promise<TerminalEvent>;
	/** Stops it at once; it ends as `cancelled`. */
	readonly cancel: () => void;
}

/**
 * Carries out a run: the loop's messages go to the store before its next step, its events to the log, its end to both.
 * The run belongs to the object: readers come and go.
 */
export function carryOut(
	store: SessionStore,
	record: RunRecord,
	options: ChatOptions,
	history: readonly Message[],
): LiveRun {
	const log = new RunLog(record.n);
	// Notes and warnings since the last stored message: they are stored with the next one.
	let unstored: RunEvent[] = [];
	const take = (): { before?: readonly RunEvent[] } => {
		const before = unstored;
		unstored = [];
		return before.length > 0 ? { before } : {};
	};
	const run = start(
		{
			...options,
			onMessage: (message, turn) => {
				store.transaction(() =>
					store.addMessage(record.n, message, Date.now(), { ...(turn !== undefined && { turn }), ...take() }),
				);
			},
		},
		history,
	);
	const end = (event: TerminalEvent): TerminalEvent => {
		const { before = [] } = take();
		store.transaction(() => store.endRun(record.n, runStatusOf(event), { before, event }, Date.now()));
		return event;
	};
	const follow = async (): Promise<TerminalEvent> => {
		let last: TerminalEvent = { type: 'error', code: 'internal', message: 'The run ended without saying how.' };
		for await (const batch of run.batches()) {
			for (const event of batch) {
				if (event.type === 'note' || event.type === 'warning') unstored.push(event);
				if (isTerminal(event)) last = end(event);
			}
			log.append(batch);
		}
		return last;
	};
	const ended = follow().catch((error: unknown): TerminalEvent => {
		// The store refused to write: readers are told, and the log of the Worker has the cause.
		console.error(JSON.stringify({ level: 'error', code: 'storage', run: record.id, cause: String(error) }));
		run.abort();
		const event: TerminalEvent = {
			type: 'error',
			code: 'internal',
			message: 'The end of the run could not be stored. Send the message again.',
		};
		if (!log.ended) log.append([event]);
		return event;
	});
	return { record, log, ended, cancel: run.abort };
}
