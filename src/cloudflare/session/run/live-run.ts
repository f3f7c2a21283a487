import type { TerminalEvent } from '../../../core/chat/index.ts';
import { RunLog } from '../events/log.ts';
import { createPastLog } from '../events/replay.ts';
import { findLastReply, restoreText } from '../store/run-end.ts';
import { findRunMessages } from '../store/run-messages.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';

/** A run that this object carries out now. */
export interface LiveRun {
	readonly record: Pick<RunRecord, 'n' | 'id'>;
	readonly log: RunLog;
	/** Resolves with how it ended, once that is stored. Rejects with `storage_unavailable` where that cannot be stored at all. */
	readonly ended: Promise<TerminalEvent>;
	/** Stops it at once, so that it ends as `cancelled`; gives its end, or throws `storage_unavailable` while that cannot be stored. */
	readonly cancel: () => Promise<TerminalEvent>;
}

export function createRunId(): string {
	return `run_${crypto.randomUUID()}`;
}

/** A run that ended before it began, and is in no row; who has read it stands behind the run `n`. */
export function createUnbegunRun(n: number, id: string, event: TerminalEvent): LiveRun {
	return toPastRun({ n, id }, new RunLog(n, [event]), event);
}

/** A run that is over in the form of one that is not. */
function toPastRun(record: LiveRun['record'], log: RunLog, event: TerminalEvent): LiveRun {
	return { record, log, ended: Promise.resolve(event), cancel: async () => event };
}

/** A run that is over in the form of one that is not, for whoever wants its answer; nothing where it has no end. */
export function createPastRun(store: SessionStore, n: number): LiveRun | undefined {
	const record = store.runs.get(n);
	const event = record?.end?.event;
	if (record === undefined || event === undefined) return undefined;
	const last = findLastReply(findRunMessages(store, n, record.firstSeq), n);
	return toPastRun(record, createPastLog(store, n), restoreText(event, last));
}
