/** The messages of sessions, as far as the trace has read them: the newest first, older ones when somebody asks for them. */

import type { SessionClient } from '../../client/sessions.ts';
import type { Message } from '../../client/types.ts';

export type HistoryClient = Pick<SessionClient, 'listMessages' | 'listEarlier'>;

/** Messages that are read at a time. */
const pageLength = 100;

interface History {
	readonly messages: readonly Message[];
	/** Where the messages before them are; missing where there are none. */
	readonly cursor: string | undefined;
}

export type Histories = ReturnType<typeof createHistories>;

export function createHistories(client: HistoryClient, signal: AbortSignal) {
	const known = new Map<string, History>();

	async function readEarlier(id: string, { messages, cursor: before }: History): Promise<History> {
		const page = await client.listEarlier(id, { before, limit: pageLength, withReplaced: true, signal });
		const history = { messages: [...page.messages, ...messages], cursor: page.cursor };
		known.set(id, history);
		return history;
	}

	return {
		/** Reads what came since the last time. Results of the newest turn come in any order, those of earlier turns are all there. */
		async read(id: string): Promise<History> {
			const before = known.get(id);
			const turn = before?.messages.findLastIndex(({ role }) => role === 'assistant') ?? -1;
			if (before === undefined || turn === -1)
				return toWholeRuns(await readEarlier(id, { messages: [], cursor: undefined }));
			const newer = await client.listMessages(id, { from: before.messages[turn]?.id, signal });
			const history = { ...before, messages: [...before.messages.slice(0, turn), ...newer] };
			known.set(id, history);
			return toWholeRuns(history);
		},
		/** Reads what is before that, as far as another run. */
		async readEarlier(id: string): Promise<void> {
			const first = known.get(id)?.messages[0]?.runId;
			for (let history = known.get(id); history?.cursor !== undefined; ) {
				history = await readEarlier(id, history);
				if (history.messages[0]?.runId !== first) return;
			}
		},
	};
}

/** Leaves out the end of a run whose beginning is not read yet, unless it is the only one. */
function toWholeRuns({ messages, cursor }: History): History {
	if (cursor === undefined) return { messages, cursor };
	const start = messages.findIndex(({ runId }) => runId !== messages[0]?.runId);
	return { messages: messages.slice(Math.max(0, start)), cursor };
}
