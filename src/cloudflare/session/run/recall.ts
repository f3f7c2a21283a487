import type { ChatOptions, Recalled } from '../../../core/chat/index.ts';
import type { MessageRecord } from '../store/message-record.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';

/** What is asked once for each message. */
interface Asked {
	readonly store: SessionStore;
	readonly record: RunRecord;
	readonly history: readonly MessageRecord[];
	readonly recall: SessionRecall | undefined;
}

/** What a session recalls for a message, and once more by the sources of that. */
export interface SessionRecall {
	readonly find: (text: string) => Promise<Recalled | undefined>;
	readonly again: (sources: readonly string[]) => Promise<Recalled | undefined>;
}

/**
 * Makes the `recall` of a run that asks once for each message. The sources of the answer are kept with the run of the
 * message, so a run that is taken up, or that goes on after somebody has answered, tells its model the same. The texts are
 * read again: what was erased meanwhile reaches no model.
 */
export function createRecall({ store, record, history, recall }: Asked): ChatOptions['recall'] {
	if (recall === undefined) return undefined;
	const { run: n = record.n } = history.findLast(({ message }) => message.role === 'user') ?? {};
	return async (text) => {
		const { recalled } = store.runs.get(n) ?? {};
		if (recalled === null) return undefined;
		if (recalled !== undefined) return recall.again(recalled.sources);
		let found: Recalled | undefined;
		try {
			found = await recall.find(text);
		} finally {
			const kept = found === undefined ? null : { sources: found.sources };
			store.transaction(() => {
				store.runs.assertOpen(record);
				store.runs.keepRecalled(n, kept);
			});
		}
		return found;
	};
}
