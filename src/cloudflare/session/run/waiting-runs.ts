import { createDeferred, type Deferred } from '../../../core/ground/deferred.ts';
import type { SessionStore } from '../store/store.ts';
import { createUnbegunRun, type LiveRun } from './run.ts';

/** The requests that wait for the runs of messages in the queue. */
export class WaitingRuns {
	readonly #store: SessionStore;
	readonly #waiting = new Map<number, Deferred<LiveRun>>();

	constructor(store: SessionStore) {
		this.#store = store;
	}

	/** Resolves with the run that a message in the queue begins, or that takes it up. */
	wait(id: number): Promise<LiveRun> {
		const reader = this.#waiting.get(id) ?? createDeferred<LiveRun>();
		this.#waiting.set(id, reader);
		return reader.promise;
	}

	/** Tells the requests of a message that it has its run. */
	show(id: number, run: LiveRun): void {
		this.#waiting.get(id)?.resolve(run);
		this.#waiting.delete(id);
	}

	/**
	 * Drops the messages that wait, in a transaction of the caller's. Call what it gives once that is committed: whoever
	 * waits for their runs gets runs that were cancelled.
	 */
	drop(): () => void {
		const { queue, runs, callbacks } = this.#store;
		const n = runs.get()?.n ?? 1;
		const dropped = queue.drop();
		for (const { runId, callback } of dropped)
			if (callback !== undefined) callbacks.add({ run: 0, runId, url: callback });
		return () => {
			for (const { id, runId } of dropped) this.show(id, createUnbegunRun(n, runId, { type: 'cancelled' }));
		};
	}
}
