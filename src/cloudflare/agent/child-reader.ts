import { RunletError } from '../../core/base/errors.ts';
import { createDeferred, type Deferred, raceAbort, sleep } from '../../core/base/promises.ts';
import type { RunEvent } from '../../core/chat/index.ts';
import { readLines } from '../objects/outside-call.ts';
import { type RpcResult, takeValue } from '../objects/reach.ts';
import type { ChildEvent } from '../wire/event.ts';
import type { OpenEvents } from './event-source.ts';

export interface ChildLine {
	readonly event: RunEvent | ChildEvent;
	readonly id?: string;
}

/** With this many unread events, the child's stream waits until the reader has read them. */
const mostHeld = 32;

/** Milliseconds between two requests to a child that cannot be reached: the first pause and the longest. */
const [firstPauseMs, longestPauseMs] = [100, 5_000];

const ends: ReadonlySet<string> = new Set(['done', 'awaiting', 'halted', 'cancelled', 'error']);

/**
 * Reads the events of a child for a reader. Pauses after the last event until the reader asks again. Resumes a broken
 * stream after the last event that arrived.
 */
export class ChildReader {
	/** The id of the last event that `take` returned. */
	seen: string;
	/** The id of the last event that arrived. */
	#last: string;
	readonly #open: OpenEvents;
	readonly #wake: () => void;
	readonly #stop = new AbortController();
	#held: ChildLine[] = [];
	#space: Deferred<void> | undefined;
	#isResting = true;
	/** Whether the last event ended a run of the child, or the child has no more events. */
	#hasAll = false;

	constructor(seen: string, open: OpenEvents, wake: () => void) {
		this.seen = seen;
		this.#last = seen;
		this.#open = open;
		this.#wake = wake;
	}

	ask(): void {
		this.#hasAll = false;
		if (!this.#isResting) return;
		this.#isResting = false;
		void this.#read();
	}

	take(): ChildLine | undefined {
		const line = this.#held.shift();
		if (line?.id !== undefined) this.seen = line.id;
		if (this.#held.length === 0) this.#space?.resolve();
		return line;
	}

	/** Whether the reader has all events. If this is unknown, returns false, asks the child, and then calls `wake`. */
	hasAll(): boolean {
		if (this.#held.length > 0 || !this.#isResting) return false;
		if (!this.#hasAll) this.ask();
		return this.#hasAll;
	}

	leave(): void {
		this.#stop.abort();
		this.#space?.resolve();
	}

	async #read(): Promise<void> {
		const { signal } = this.#stop;
		for (let pause = firstPauseMs; !signal.aborted; pause = Math.min(2 * pause, longestPauseMs)) {
			const isOver = await this.#readOnce().catch((error: unknown) => {
				// A removed child has no more events.
				this.#hasAll = isFinal(error);
				return this.#hasAll;
			});
			if (isOver) break;
			await sleep(pause, signal).catch(() => {});
		}
		this.#isResting = true;
		this.#wake();
	}

	/** Reads a stream to its end. Returns whether the child has no more events. */
	async #readOnce(): Promise<boolean> {
		const { signal } = this.#stop;
		const bytes = takeValue(await raceAbort(this.#open(this.#last), signal));
		this.#hasAll = bytes === undefined;
		if (bytes === undefined) return true;
		for await (const line of readLines<ChildLine>(bytes, signal)) {
			this.#held.push(line);
			if (line.id !== undefined) this.#last = line.id;
			this.#hasAll = ends.has(line.event.type);
			this.#wake();
			if (this.#held.length >= mostHeld) await this.#waitForRoom();
		}
		return this.#hasAll;
	}

	async #waitForRoom(): Promise<void> {
		this.#space = createDeferred();
		await this.#space.promise;
		this.#space = undefined;
	}
}

/** Milliseconds between two requests to a session that cannot be reached: the first pause and the longest. */
const [firstTryMs, longestTryMs] = [250, 5_000];

/** Repeats a call to another session until the call succeeds, or fails with an error that no retry changes. */
export async function insist<T>(signal: AbortSignal, call: () => Promise<RpcResult<T>>): Promise<T> {
	for (let pause = firstTryMs; ; pause = Math.min(2 * pause, longestTryMs)) {
		try {
			return takeValue(await raceAbort(call(), signal));
		} catch (error) {
			signal.throwIfAborted();
			if (isFinal(error)) throw error;
			await sleep(pause * (0.5 + Math.random() / 2), signal);
		}
	}
}

/** Whether a retry would be refused, too. */
function isFinal(error: unknown): boolean {
	return error instanceof RunletError && !['overloaded', 'storage_unavailable'].includes(error.code);
}
