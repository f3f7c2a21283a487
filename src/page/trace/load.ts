/** Reads what the runs of a session took, with those of the sessions that work for its calls. */

import type { SessionClient } from '../../client/sessions.ts';
import type { Session } from '../../client/types.ts';
import type { Histories, HistoryClient } from './history.ts';
import { type TracedChild, type TracedRun, toRuns } from './spans.ts';

export type TraceClient = Pick<SessionClient, 'getSession'> & HistoryClient;

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

/** Of what `histories` has, only the newest turn is read again. */
export async function loadTrace(
	client: Pick<TraceClient, 'getSession'>,
	id: string,
	{ histories, signal, depth = 1 }: { histories: Histories; signal: AbortSignal; depth?: number },
): Promise<Trace> {
	const [session, { messages, cursor }] = await Promise.all([client.getSession(id, { signal }), histories.read(id)]);
	const children = new Map<string, TracedChild[]>();
	const read = (session.children ?? []).slice(-mostChildren).map(async (child) => {
		// Where a child cannot be read, the call is shown without it.
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
