/** Reads what a session does while somebody looks: what its runs took, and their events as they come. */

import type { SessionClient } from '../../client/sessions.ts';
import type { RunEvent } from '../../client/types.ts';
import { createHistories } from './history.ts';
import { loadTrace, type Trace, type TraceClient } from './load.ts';

export type WatchClient = TraceClient & Pick<SessionClient, 'followRun'>;

export interface Watcher {
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

	/** While it reads, further wishes become one. */
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
