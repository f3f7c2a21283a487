import type { Message } from '../../../core/chat/index.ts';
import { createDeferred, type Deferred } from '../../../core/ground/deferred.ts';
import type { Once } from '../../rpc/session.ts';
import type { Inbound } from '../store/inbound.ts';
import type { Waiting } from '../store/queue.ts';
import type { SessionStore } from '../store/store.ts';
import { createRunId, createUnbegunRun, type LiveRun } from './live-run.ts';

/** The messages that wait for a run to end, and whoever waits for the runs that they will begin. */
export class Queue {
	readonly #store: SessionStore;
	readonly #readers = new Map<number, Deferred<LiveRun>>();

	constructor(store: SessionStore) {
		this.#store = store;
	}

	/** Stores a message that waits for its run or, where it `steers`, for the run that goes on to take it up. */
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
			// What a page is shown has one name, before its run begins and after.
			const named = { messageId: runId, ...inbound };
			const waiting = queue.add({ runId, message, inbound: named, model, steers, key: once?.key, callback }, createdAt);
			if (once !== undefined) deliveries.add(once, { waiting: waiting.id }, createdAt);
			return waiting;
		});
	}

	/** A message that waits says something else: it keeps its place and its run. */
	edit(waiting: Waiting): void {
		this.#store.transaction(() => this.#store.queue.edit(waiting, Date.now()));
	}

	/** The message that waits and that its sender calls so. */
	findNamed(id: string | undefined): Waiting | undefined {
		return id === undefined ? undefined : this.#store.queue.all().find(({ inbound }) => inbound?.messageId === id);
	}

	/** The run that a waiting message begins, or that takes it up, once it does. */
	waitForRun(id: number): Promise<LiveRun> {
		const reader = this.#readers.get(id) ?? createDeferred<LiveRun>();
		this.#readers.set(id, reader);
		return reader.promise;
	}

	/** Its run has begun, or has taken it up. */
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
			// Its place is given to another message: who asks again must not get that one's run.
			if (key !== undefined) this.#store.deliveries.endWaiting(key, undefined);
		}
		return () => {
			for (const { id, runId } of dropped) this.begin(id, createUnbegunRun(n, runId, { type: 'cancelled' }));
		};
	}
}
