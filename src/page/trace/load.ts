/** Loads the trace of a session and its children, and updates it while the session runs. */

import type { SessionClient } from '../../client/sessions.ts';
import type { Message, RunEvent, Session } from '../../client/types.ts';
import { createRefresh, type Visit } from '../parts/live.ts';
import { createEventTimes } from './event-times.ts';
import { type TracedChild, type TracedRun, toRuns } from './spans.ts';
import { createWaits, type TimedCall, type Waits } from './waits.ts';

/** The maximum number of child sessions that are read for a session. */
const mostChildren = 20;
/** The maximum number of runs that went on after an answer of a person, and whose waits are read. They are the newest. */
const mostAnswered = 5;
/** The maximum depth of nested child sessions that are read. */
const deepest = 3;

export interface Trace {
	readonly session: Session;
	/** The runs of the session, oldest first. */
	readonly runs: readonly TracedRun[];
	/** Whether the session has older runs that were not read. */
	readonly hasOlder: boolean;
}

interface LoadOptions {
	readonly histories: Histories;
	readonly waits: Waits;
	readonly signal: AbortSignal;
	readonly depth?: number;
}

/** Loads a trace. If the history was read before, reads only its newest turn and later messages. */
export async function loadTrace(
	client: Pick<SessionClient, 'getSession'>,
	id: string,
	{ histories, waits, signal, depth = 1 }: LoadOptions,
): Promise<Trace> {
	const [session, { messages, cursor }] = await Promise.all([client.getSession(id, { signal }), histories.read(id)]);
	const children = new Map<string, TracedChild[]>();
	const read = (session.children ?? []).slice(-mostChildren).map(async (child) => {
		if (depth >= deepest) return { ...child, runs: [] };
		const trace = loadTrace(client, child.id, { histories, waits, signal, depth: depth + 1 });
		// If a child session cannot be read, its call is shown without the child.
		return { ...child, runs: await trace.then(({ runs }) => runs).catch(() => []) };
	});
	for (const { callId, ...child } of await Promise.all(read)) {
		if (child.runs.length === 0) continue;
		children.set(callId, [...(children.get(callId) ?? []), child]);
	}
	const runs = toRuns(session, messages, { children });
	const answered = runs.filter(({ waitedMs }) => waitedMs > 0).slice(-mostAnswered);
	if (answered.length === 0 || depth > 1) return { session, runs, hasOlder: cursor !== undefined };
	const times = new Map<string, TimedCall>();
	for (const calls of await Promise.all(answered.map((run) => waits.read(id, run.id))))
		for (const [call, time] of calls) times.set(call, time);
	return { session, runs: toRuns(session, messages, { children, times }), hasOlder: cursor !== undefined };
}

type HistoryClient = Pick<SessionClient, 'listMessages' | 'listEarlier'>;

const pageLength = 100;

interface History {
	readonly messages: readonly Message[];
	/** The cursor for earlier messages. Missing if there are none. */
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
		/** Reads new messages. Reads the newest turn again, because its results arrive in any order. */
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
		/** Reads earlier messages, until they belong to another run. */
		async readEarlier(id: string): Promise<void> {
			const first = known.get(id)?.messages[0]?.runId;
			for (let history = known.get(id); history?.cursor !== undefined; ) {
				history = await readEarlier(id, history);
				if (history.messages[0]?.runId !== first) return;
			}
		},
	};
}

/** Leaves out the oldest run if its first messages are not read yet, unless it is the only run. */
function toWholeRuns({ messages, cursor }: History): History {
	if (cursor === undefined) return { messages, cursor };
	const start = messages.findIndex(({ runId }) => runId !== messages[0]?.runId);
	return { messages: messages.slice(Math.max(0, start)), cursor };
}

interface Watcher {
	onTrace(trace: Trace): void;
	/** `at` is the time of the event in milliseconds since 1970, if it is known. */
	onEvent(event: RunEvent, id: string | undefined, at: number | undefined): void;
	onFailure(error: unknown): void;
}

/** The types of events after which the trace is read again. */
const changing: ReadonlySet<RunEvent['type']> = new Set([
	...(['run.started', 'stop', 'tool_result', 'step'] as const),
	...(['done', 'awaiting', 'halted', 'cancelled', 'error'] as const),
]);

export type Watch = ReturnType<typeof watchSession>;

export function watchSession(client: SessionClient, { id, signal }: Visit, watcher: Watcher) {
	/** The run whose events were followed last. */
	let followed: string | undefined;
	const histories = createHistories(client, signal);
	const waits = createWaits(client, signal);
	let isFollowing = false;

	const read = createRefresh(async () => {
		if (signal.aborted) return;
		const trace = await loadTrace(client, id, { histories, waits, signal });
		if (signal.aborted) return;
		watcher.onTrace(trace);
		const run = trace.session.run?.id;
		if (!isFollowing && run !== undefined && run !== followed) watchFailure(follow(run, trace));
	});

	async function follow(run: string, trace: Trace): Promise<void> {
		isFollowing = true;
		followed = run;
		const events = client.followRun(id, { signal });
		const { session, runs } = trace;
		const traced = runs.find((one) => one.id === run);
		const findTime = createEventTimes(run, traced, session.run?.status === 'running');
		for await (const event of events) {
			if (signal.aborted) return;
			if (event.type === 'run.started') followed = event.runId;
			watcher.onEvent(event, events.lastEventId, findTime(event));
			if (changing.has(event.type)) refresh();
		}
		isFollowing = false;
	}

	function watchFailure(work: Promise<void>): void {
		work.catch((error: unknown) => {
			if (!signal.aborted) watcher.onFailure(error);
		});
	}

	function refresh(): void {
		watchFailure(read());
	}

	return {
		/** Reads the trace again. Call this if a run has possibly begun. Events of a run also cause a new read. */
		refresh,
		async readOlder(): Promise<void> {
			await histories.readEarlier(id);
			refresh();
		},
	};
}
