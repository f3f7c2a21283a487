import type { Message } from '../../../core/chat/index.ts';
import { createDeferred, type Deferred } from '../../../core/ground/deferred.ts';
import type { Once } from '../../rpc/session.ts';
import type { Inbound } from '../store/inbound.ts';
import type { Waiting } from '../store/queue.ts';
import type { SessionStore } from '../store/store.ts';
import { createRunId, createUnbegunRun, type LiveRun } from './run.ts';

/** The messages that wait for a run to end, and the requests that wait for their runs. */
export class Queue {
	readonly #store: SessionStore;
	readonly #readers = new Map<number, Deferred<LiveRun>>();

	constructor(store: SessionStore) {
		this.#store = store;
	}

	/** Stores a message that waits for its run, or with `steers` for the current run to take it up. */
	add(
		{ message, inbound }: { readonly message: Message; readonly inbound: Inbound },
		about: {
			readonly model?: string;
			readonly steers: boolean;
			readonly once?: Once;
			readonly callback?: string;
		},
	): Waiting {
		const { queue, deliveries } = this.#store;
		const { model, steers, once, callback } = about;
		return this.#store.transaction(() => {
			const createdAt = Date.now();
			const runId = createRunId();
			// A page sees the message under one id, before its run begins and after.
			const named = { messageId: runId, ...inbound };
			const waiting = queue.add({ runId, message, inbound: named, model, steers, key: once?.key, callback }, createdAt);
			if (once !== undefined) deliveries.add(once, { waiting: waiting.id }, createdAt);
			return waiting;
		});
	}

	/** Replaces a message that waits. It keeps its place and its run. */
	edit(waiting: Waiting): void {
		this.#store.transaction(() => this.#store.queue.edit(waiting, Date.now()));
	}

	/** Finds a message that waits by its sender's id. */
	findNamed(id: string | undefined): Waiting | undefined {
		return id === undefined ? undefined : this.#store.queue.all().find(({ inbound }) => inbound?.messageId === id);
	}

	/** Resolves with the run that a waiting message begins, or that takes it up. */
	waitForRun(id: number): Promise<LiveRun> {
		const reader = this.#readers.get(id) ?? createDeferred<LiveRun>();
		this.#readers.set(id, reader);
		return reader.promise;
	}

	/** Tells the waiting requests that the message has its run. */
	begin(id: number, run: LiveRun): void {
		this.#readers.get(id)?.resolve(run);
		this.#readers.delete(id);
	}

	/**
	 * Drops all that wait, in a transaction of the caller's. Call what it gives once that is committed: whoever waits for
	 * their runs gets runs that were cancelled.
	 */
	drop(): () => void {
		const dropped = this.#store.queue.all();
		const n = this.#store.runs.get()?.n ?? 1;
		for (const { id, key, runId, callback } of dropped) {
			this.#store.queue.remove(id);
			if (callback !== undefined) this.#store.callbacks.add({ run: 0, runId, url: callback });
			// Another message may get its place. A repeated request must not get that one's run.
			if (key !== undefined) this.#store.deliveries.endWaiting(key, undefined);
		}
		return () => {
			for (const { id, runId } of dropped) this.begin(id, createUnbegunRun(n, runId, { type: 'cancelled' }));
		};
	}
}
