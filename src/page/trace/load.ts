/** Reads what the runs of a session took, with those of the sessions that work for its calls. */

import type { SessionClient } from '../../client/sessions.ts';
import type { Message, Session } from '../../client/types.ts';
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

/** The messages that were read of each session, by its id. */
export type Histories = Map<string, readonly Message[]>;

/** Of what `histories` has, only the newest turn is read again. */
export async function loadTrace(
	client: TraceClient,
	id: string,
	{ histories, signal, depth = 1 }: { histories: Histories; signal: AbortSignal; depth?: number },
): Promise<Trace> {
	const [session, messages] = await Promise.all([
		client.getSession(id, { signal }),
		readHistory(client, id, histories, signal),
	]);
	// A child in the background goes on beside the run: its own page shows what it took.
	const waitedFor = (session.children ?? []).filter(({ background }) => background !== true).slice(-mostChildren);
	const children = new Map<string, TracedChild[]>();
	const read = waitedFor.map(async (child) => {
		// Where a child cannot be read, the call is shown without it.
		const trace =
			depth < deepest
				? await loadTrace(client, child.id, { histories, signal, depth: depth + 1 }).catch(() => undefined)
				: undefined;
		return { ...child, runs: trace?.runs ?? [] };
	});
	for (const { id, agent, callId, runs } of await Promise.all(read)) {
		if (runs.length === 0) continue;
		children.set(callId, [...(children.get(callId) ?? []), { id, agent, runs }]);
	}
	return { session, runs: toRuns(session, messages, children) };
}

/** Reads what came since the last time. Results of the newest turn come in any order, those of earlier turns are all there. */
async function readHistory(
	client: TraceClient,
	id: string,
	histories: Histories,
	signal: AbortSignal,
): Promise<readonly Message[]> {
	const known = histories.get(id) ?? [];
	const turn = known.findLastIndex(({ role }) => role === 'assistant');
	const newer = await client.listMessages(id, { from: known[turn]?.id, signal });
	const messages = [...known.slice(0, Math.max(0, turn)), ...newer];
	histories.set(id, messages);
	return messages;
}
