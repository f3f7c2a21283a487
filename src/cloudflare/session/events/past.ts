import { type LiveRun, toPastRun } from '../run/run.ts';
import { type MessageRecord, messageStride } from '../store/message.ts';
import type { RunRecord } from '../store/run.ts';
import type { SessionStore } from '../store/store.ts';
import { RunLog } from './log.ts';
import { replay } from './replay.ts';
import { findLastReply, restoreText } from './tail.ts';

/** Logs of runs that are over, as long as somebody reads them: readers who come together share one. */
const logs = new WeakMap<SessionStore, Map<number, Shared>>();

interface Shared {
	/** A run that waited for somebody may end otherwise yet. */
	readonly status: RunRecord['status'];
	readonly log: WeakRef<RunLog>;
}

/** The events of a run that is over, made again from the store. */
export function createPastLog(store: SessionStore, n: number): RunLog {
	const run = store.runs.get(n);
	if (run === undefined) return new RunLog(n);
	const known = logs.get(store) ?? new Map<number, Shared>();
	logs.set(store, known);
	const shared = known.get(n);
	const log = shared?.status === run.status ? shared.log.deref() : undefined;
	if (log !== undefined) return log;
	const made = new RunLog(n, replay(run, findRecords(store, n, run.firstSeq)));
	known.set(n, { status: run.status, log: new WeakRef(made) });
	return made;
}

/** A run that is over in the form of one that is not, for whoever wants its answer; nothing where it has no end. */
export function createPastRun(store: SessionStore, n: number): LiveRun | undefined {
	const record = store.runs.get(n);
	const event = record?.tail?.event;
	if (record === undefined || event === undefined) return undefined;
	const last = findLastReply(findRecords(store, n, record.firstSeq), n);
	return toPastRun(record, createPastLog(store, n), restoreText(event, last));
}

/** The messages of a run, and those of its neighbours that stand in the same turn. */
export function findRecords(store: SessionStore, n: number, from: number): readonly MessageRecord[] {
	const next = store.runs.get(n + 1)?.firstSeq;
	const { records } = store.messages.page({ from, to: next && next + messageStride });
	return records.map((record) => store.messages.whole(record));
}
