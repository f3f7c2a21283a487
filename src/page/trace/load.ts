/** Loads the trace of a session and its children, and updates it while the session runs. */

import type { SessionClient } from '../../client/sessions.ts';
import type { Message, RunEvent, Session } from '../../client/types.ts';
import { type TracedChild, type TracedRun, toRuns } from './spans.ts';

type TraceClient = Pick<SessionClient, 'getSession'> & HistoryClient;

/** Children that are read, of one session, and how deep. */
const mostChildren = 20;
const deepest = 3;

export interface Trace {
	readonly session: Session;
	/** The oldest first. */
	readonly runs: readonly TracedRun[];
	/** Whether there are older ones, which were not read. */
	readonly hasOlder: boolean;
}

/** Reads again only the newest turn of a history that `histories` has. */
export async function loadTrace(
	client: Pick<TraceClient, 'getSession'>,
	id: string,
	{ histories, signal, depth = 1 }: { histories: Histories; signal: AbortSignal; depth?: number },
): Promise<Trace> {
	const [session, { messages, cursor }] = await Promise.all([client.getSession(id, { signal }), histories.read(id)]);
	const children = new Map<string, TracedChild[]>();
	const read = (session.children ?? []).slice(-mostChildren).map(async (child) => {
		// If a child cannot be read, the call is shown without it.
		const trace =
			depth < deepest
				? await loadTrace(client, child.id, { histories, signal, depth: depth + 1 }).catch(() => undefined)
				: undefined;
		return { ...child, runs: trace?.runs ?? [] };
	});
	for (const { callId, ...child } of await Promise.all(read)) {
		if (child.runs.length === 0) continue;
		children.set(callId, [...(children.get(callId) ?? []), child]);
	}
	return { session, runs: toRuns(session, messages, children), hasOlder: cursor !== undefined };
}

type HistoryClient = Pick<SessionClient, 'listMessages' | 'listEarlier'>;

/** Messages that are read at a time. */
const pageLength = 100;

interface History {
	readonly messages: readonly Message[];
	/** Where the messages before them are; missing where there are none. */
	readonly cursor: string | undefined;
}

type Histories = ReturnType<typeof createHistories>;

export function createHistories(client: HistoryClient, signal: AbortSignal) {
	const known = new Map<string, History>();

	async function readEarlier(id: string, { messages, cursor: before }: History): Promise<History> {
		const page = await client.listEarlier(id, { before, limit: pageLength, withReplaced: true, signal });
		const history = { messages: [...page.messages, ...messages], cursor: page.cursor };
		known.set(id, history);
		return history;
	}

	return {
		/** Reads new messages. Repeats the newest turn, whose results arrive in any order. */
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
		/** Reads earlier messages up to another run. */
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

export type WatchClient = TraceClient & Pick<SessionClient, 'followRun'>;

interface Watcher {
	onTrace(trace: Trace): void;
	onEvent(event: RunEvent, id: string | undefined): void;
	onFailure(error: unknown): void;
}

/** Events after which the trace has more to show. */
const telling: ReadonlySet<RunEvent['type']> = new Set([
	...(['run.started', 'stop', 'tool_result', 'step'] as const),
	...(['done', 'awaiting', 'halted', 'cancelled', 'error'] as const),
]);

export interface Watch {
	/** Looks again. To be called when a run may have begun; each event of a run has the same effect. */
	refresh(): void;
	/** Reads runs that are older than those that were read. */
	readOlder(): Promise<void>;
}

export function watchSession(client: WatchClient, id: string, signal: AbortSignal, watcher: Watcher): Watch {
	/** The run whose events were read last. */
	let followed: string | undefined;
	const histories = createHistories(client, signal);
	let isFollowing = false;
	let isReading = false;
	let isStale = false;

	/** Further calls during a read lead to one more read. */
	async function read(): Promise<void> {
		isReading = true;
		while (isStale) {
			isStale = false;
			const trace = await loadTrace(client, id, { histories, signal });
			if (signal.aborted) return;
			watcher.onTrace(trace);
			const run = trace.session.run?.id;
			if (!isFollowing && run !== undefined && run !== followed) look(follow(run));
		}
		isReading = false;
	}

	async function follow(run: string): Promise<void> {
		isFollowing = true;
		followed = run;
		const events = client.followRun(id, { signal });
		for await (const event of events) {
			if (signal.aborted) return;
			if (event.type === 'run.started') followed = event.runId;
			watcher.onEvent(event, events.lastEventId);
			if (telling.has(event.type)) refresh();
		}
		isFollowing = false;
	}

	function look(work: Promise<void>): void {
		work.catch((error: unknown) => {
			if (!signal.aborted) watcher.onFailure(error);
		});
	}

	function refresh(): void {
		isStale = true;
		if (!isReading && !signal.aborted) look(read());
	}

	return {
		refresh,
		async readOlder(): Promise<void> {
			await histories.readEarlier(id);
			refresh();
		},
	};
}
