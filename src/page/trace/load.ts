/** Reads what the runs of a session took, with those of the sessions that work for its calls. */

import type { SessionClient } from '../../client/sessions.ts';
import type { Session } from '../../client/types.ts';
import { type TracedChild, type TracedRun, toRuns } from './spans.ts';

export type TraceClient = Pick<SessionClient, 'getSession' | 'listMessages'>;

/** Children that are read, of one session, and how deep. */
const mostChildren = 20;
const deepest = 3;

export interface Trace {
	readonly session: Session;
	/** The oldest first. */
	readonly runs: readonly TracedRun[];
}

export async function loadTrace(client: TraceClient, id: string, signal: AbortSignal, depth = 1): Promise<Trace> {
	const [session, messages] = await Promise.all([
		client.getSession(id, { signal }),
		client.listMessages(id, { signal }),
	]);
	// A child in the background goes on beside the run: its own page shows what it took.
	const waitedFor = (session.children ?? []).filter(({ background }) => background !== true).slice(-mostChildren);
	const children = new Map<string, TracedChild[]>();
	const read = waitedFor.map(async (child) => {
		// Where a child cannot be read, the call is shown without it.
		const trace =
			depth < deepest ? await loadTrace(client, child.id, signal, depth + 1).catch(() => undefined) : undefined;
		return { ...child, runs: trace?.runs ?? [] };
	});
	for (const { id, agent, callId, runs } of await Promise.all(read)) {
		if (runs.length === 0) continue;
		children.set(callId, [...(children.get(callId) ?? []), { id, agent, runs }]);
	}
	return { session, runs: toRuns(session, messages, children) };
}
