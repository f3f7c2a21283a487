import { isSideEvent, isTerminal } from '../chat/event.ts';
import type { ChatOptions, Message, SideEvent, TerminalEvent } from '../chat/index.ts';
import { start } from '../chat/run.ts';
import { messageOf } from '../errors.ts';
import { callsInOrder } from './calls-in-order.ts';
import { RunLog } from './log.ts';
import { runStatusOf } from './status.ts';
import type { RunRecord, SessionStore } from './store.ts';
import { fitting, slim, tailLength } from './tail.ts';

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
	// Notes and warnings that were read here, and how many of them went into the store with a message.
	const said: SideEvent[] = [];
	let stored = 0;
	const run = start(
		{
			...options,
			onMessage: (message, { turn, before }) => {
				const about = { ...(turn !== undefined && { turn }), ...(before.length > 0 && { before }) };
				store.transaction(() => store.addMessage(record.n, message, Date.now(), about));
				stored += before.length;
			},
		},
		history,
	);
	const end = (event: TerminalEvent): TerminalEvent => {
		const tail = fitting({ before: said.slice(stored), draft: log.draft(tailLength), event: slim(event) });
		store.transaction(() => store.endRun(record.n, runStatusOf(event), tail, Date.now()));
		return event;
	};
	const follow = async (): Promise<TerminalEvent> => {
		let last: TerminalEvent = { type: 'error', code: 'internal', message: 'The run ended without saying how.' };
		const inOrder = callsInOrder();
		for await (const given of run.batches()) {
			const batch = inOrder(given);
			for (const event of batch) if (isSideEvent(event)) said.push(event);
			const final = batch.find(isTerminal);
			log.append(final === undefined ? batch : batch.slice(0, -1));
			if (final === undefined) continue;
			last = end(final);
			log.append([final]);
		}
		return last;
	};
	const ended = follow().catch((cause: unknown): TerminalEvent => {
		console.error(JSON.stringify({ level: 'error', code: 'storage', run: record.id, cause: messageOf(cause) }));
		run.abort();
		const event: TerminalEvent = {
			type: 'error',
			code: 'internal',
			message: 'The run could not be stored. Send the message again.',
		};
		try {
			store.endRun(record.n, 'error', { before: [], draft: [], event }, Date.now());
		} catch {
			// Not even this could be written; the object's next life closes the run.
		}
		if (!log.ended) log.append([event]);
		return event;
	});
	return { record, log, ended, cancel: run.abort };
}
