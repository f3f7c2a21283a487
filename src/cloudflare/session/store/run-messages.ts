import { type MessageRecord, messageStride } from './messages.ts';
import type { SessionStore } from './store.ts';

/** Returns the messages of a run, and those of its neighbours in the same turn. */
export function findRunMessages(store: SessionStore, n: number, from: number): readonly MessageRecord[] {
	const next = store.runs.get(n + 1)?.firstSeq;
	const { records } = store.messages.page({ from, to: next && next + messageStride });
	return records.map((record) => store.messages.whole(record));
}
