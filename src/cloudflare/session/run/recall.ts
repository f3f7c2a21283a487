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
	/** Whether the model is sent all of the history, so that it is told of no memory twice. */
	readonly isWhole: boolean;
}

/** What a session recalls for a message, and once more by lists of sources. */
export interface SessionRecall {
	readonly find: (text: string, told: ReadonlySet<string>) => Promise<Recalled | undefined>;
	readonly again: (lists: readonly (readonly string[])[]) => Promise<readonly (Recalled | undefined)[]>;
}

/**
 * Makes the `recall` of a run that asks once for each message. The sources of the answer are kept with the run of the
 * message, so each later request tells the model the same in front of that message. The texts are read again: what was
 * erased meanwhile reaches no model.
 */
export function createRecall({ store, record, history, recall, isWhole }: Asked): ChatOptions['recall'] {
	if (recall === undefined) return undefined;
	const newest = history.findLastIndex(({ message }) => message.role === 'user');
	const { run: n = record.n } = history[newest] ?? {};
	return async (text) => {
		const known = listKnown(store, history);
		const rereading = known.length === 0 ? [] : recall.again(known.map(({ sources }) => sources));
		const told = new Set(isWhole ? known.flatMap(({ sources }) => sources) : []);
		const isAsked = store.runs.get(n)?.recalled !== undefined;
		const [again, found] = await Promise.all([rereading, isAsked ? undefined : findNew(told)]);
		const texts = new Map(known.map(({ place }, index) => [place, again[index]]));
		const own = found ?? texts.get(newest);
		texts.delete(newest);
		const earlier = new Map([...texts].flatMap(([place, one]) => (one === undefined ? [] : [[place, one.text]])));
		return { text: own?.text ?? '', sources: own?.sources ?? [], earlier };

		async function findNew(told: ReadonlySet<string>): Promise<Recalled | undefined> {
			let found: Recalled | undefined;
			try {
				found = await recall?.find(text, told);
			} finally {
				const kept = found === undefined ? null : { sources: found.sources };
				store.transaction(() => {
					store.runs.assertOpen(record);
					store.runs.keepRecalled(n, kept);
				});
			}
			return found;
		}
	};
}

/** Lists the messages that have something in front, by their places in the history: the first ones of their runs. */
function listKnown(
	store: SessionStore,
	history: readonly MessageRecord[],
): { readonly place: number; readonly sources: readonly string[] }[] {
	const rows = store.runs.listRecalled(history[0]?.run ?? 0);
	return [...rows].flatMap(([n, { sources }]) => {
		const place = history.findIndex(({ run, message }) => run === n && message.role === 'user');
		return place === -1 ? [] : [{ place, sources }];
	});
}
