import { RunletError } from '../../../core/base/errors.ts';
import { createDeferred, type Deferred } from '../../../core/base/promises.ts';
import type { QueuedMessage } from '../store/requests.ts';
import type { SessionStore } from '../store/store.ts';
import { createUnbegunRun, type LiveRun } from './run.ts';

export class WaitingRuns {
	readonly #store: SessionStore;
	readonly #readers = new Map<number, Deferred<LiveRun>>();

	constructor(store: SessionStore) {
		this.#store = store;
	}

	/** Resolves with the run that a queued message begins or steers. */
	wait(id: number): Promise<LiveRun> {
		const reader = this.#readers.get(id) ?? createDeferred<LiveRun>();
		this.#readers.set(id, reader);
		return reader.promise;
	}

	show(id: number, run: LiveRun): void {
		this.#readers.get(id)?.resolve(run);
		this.#readers.delete(id);
	}

	/** Finds the message that will begin a run. Throws `not_found` if there is none. */
	find(runId: string): QueuedMessage {
		const waiting = this.#store.queue.all().find((waiting) => waiting.runId === runId);
		if (waiting !== undefined) return waiting;
		throw new RunletError('not_found', 'This message does not wait: a run has taken it up, or it was removed.');
	}

	/**
	 * Drops messages within a transaction, by default all. Call the returned function after the commit: it passes
	 * cancelled runs to the waiting requests.
	 */
	drop(dropped: readonly QueuedMessage[] = this.#store.queue.all()): () => void {
		const { queue, runs, callbacks } = this.#store;
		const n = runs.get()?.n ?? 1;
		for (const waiting of dropped) {
			const { runId, callback } = waiting;
			queue.take(waiting, undefined);
			if (callback !== undefined) callbacks.add({ run: 0, runId, url: callback });
		}
		return () => {
			for (const { id, runId } of dropped) this.show(id, createUnbegunRun(n, runId, { type: 'cancelled' }));
		};
	}
}
