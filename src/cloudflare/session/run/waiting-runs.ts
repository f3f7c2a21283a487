import { RunletError } from '../../../core/base/errors.ts';
import { createDeferred, type Deferred } from '../../../core/base/promises.ts';
import type { Waiting } from '../store/requests.ts';
import type { SessionStore } from '../store/store.ts';
import { createUnbegunRun, type LiveRun } from './run.ts';

/** The messages in the queue, and the requests that wait for their runs. */
export class WaitingRuns {
	readonly #store: SessionStore;
	/** By the place of the message in the queue. */
	readonly #readers = new Map<number, Deferred<LiveRun>>();

	constructor(store: SessionStore) {
		this.#store = store;
	}

	/** Resolves with the run that a message in the queue begins, or that takes it up. */
	wait(id: number): Promise<LiveRun> {
		const reader = this.#readers.get(id) ?? createDeferred<LiveRun>();
		this.#readers.set(id, reader);
		return reader.promise;
	}

	/** Tells the waiting requests that their message has its run. */
	show(id: number, run: LiveRun): void {
		this.#readers.get(id)?.resolve(run);
		this.#readers.delete(id);
	}

	/** Finds the message that will begin a run. Throws `not_found` where none waits for it. */
	find(runId: string): Waiting {
		const waiting = this.#store.queue.all().find((one) => one.runId === runId);
		if (waiting !== undefined) return waiting;
		throw new RunletError('not_found', 'This message does not wait: a run has taken it up, or it was removed.');
	}

	/**
	 * Drops messages, all of them by default, in a transaction of the caller's. Call what it gives once that is committed:
	 * whoever waits for their runs gets runs that were cancelled.
	 */
	drop(dropped: readonly Waiting[] = this.#store.queue.all()): () => void {
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
