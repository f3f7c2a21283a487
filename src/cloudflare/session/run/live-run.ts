import type { TerminalEvent } from '../../../core/chat/index.ts';
import { RunLog } from '../events/log.ts';
import { createPastLog } from '../events/replay.ts';
import { findLastReply, restoreText } from '../store/run-end.ts';
import { findRunMessages } from '../store/run-messages.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';

/** A run that this object carries out now, or a finished one in the same form. */
export interface LiveRun {
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	readonly log: RunLog;
	/** Resolves with the run's end once that is stored. Rejects with `storage_unavailable` if it cannot be stored at all. */
	readonly ended: Promise<TerminalEvent>;
	/** Stops the run, which ends as `cancelled`. Throws `storage_unavailable` if its end cannot be stored for a while. */
	readonly cancel: () => Promise<TerminalEvent>;
}

export function createRunId(): string {
	return `run_${crypto.randomUUID()}`;
}

/** Creates a run that ended before it began and is not stored. Its reader has then seen the run `n`. */
export function createUnbegunRun(n: number, id: string, event: TerminalEvent): LiveRun {
	return toPastRun({ n, id }, new RunLog(n, [event]), event);
}

/** Returns a finished run in the form of a live one. */
function toPastRun(record: LiveRun['record'], log: RunLog, event: TerminalEvent): LiveRun {
	return { record, log, ended: Promise.resolve(event), cancel: async () => event };
}

/** Rebuilds a finished run from the store in the form of a live one; nothing if it has not ended. */
export function createPastRun(store: SessionStore, n: number): LiveRun | undefined {
	const record = store.runs.get(n);
	const event = record?.end?.event;
	if (record === undefined || event === undefined) return undefined;
	const last = findLastReply(findRunMessages(store, n, record.firstSeq), n);
	return toPastRun(record, createPastLog(store, n), restoreText(event, last));
}
