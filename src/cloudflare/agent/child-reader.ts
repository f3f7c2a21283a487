import { RunletError } from '../../core/base/errors.ts';
import { createDeferred, type Deferred } from '../../core/base/promises.ts';
import type { RunEvent } from '../../core/chat/index.ts';
import { raceAbort, sleep } from '../../core/chat/signal.ts';
import { readLines } from '../objects/outside-call.ts';
import { type RpcResult, takeValue } from '../objects/result.ts';
import type { ChildEvent } from '../wire/event.ts';
import type { OpenEvents } from './event-source.ts';

/** An event as a child tells it. */
export interface ToldEvent {
	readonly event: RunEvent | ChildEvent;
	readonly id?: string;
}

/** Events that are held for a reader who is slow. Then the child waits. */
const mostHeld = 32;

/** The first and the longest pause before a child that cannot be reached is asked again, in milliseconds. */
const [firstPauseMs, longestPauseMs] = [100, 5_000];

const ends: ReadonlySet<string> = new Set(['done', 'awaiting', 'halted', 'cancelled', 'error']);

/**
 * Reads the events of one child for one reader. It rests where the child has told all that there is, until it is asked
 * again. A stream that breaks off goes on behind the last event that came.
 */
export class ChildReader {
	/** The id of the last event that the reader was given. */
	seen: string;
	/** The id of the last event that came. */
	#last: string;
	readonly #open: OpenEvents;
	readonly #wake: () => void;
	readonly #stop = new AbortController();
	#held: ToldEvent[] = [];
	#room: Deferred<void> | undefined;
	#isResting = true;
	/** Whether nothing comes behind the last event, as far as is known: a run of the child has ended with it, or it said so. */
	#hasAll = false;

	constructor(seen: string, open: OpenEvents, wake: () => void) {
		this.seen = seen;
		this.#last = seen;
		this.#open = open;
		this.#wake = wake;
	}

	/** Asks the child for what it has to tell now. */
	ask(): void {
		this.#hasAll = false;
		if (!this.#isResting) return;
		this.#isResting = false;
		void this.#read();
	}

	/** Takes the next event that came. */
	take(): ToldEvent | undefined {
		const told = this.#held.shift();
		if (told?.id !== undefined) this.seen = told.id;
		if (this.#held.length === 0) this.#room?.resolve();
		return told;
	}

	/** Whether the reader was given all. If that is not known the child is asked, and `wake` is called. */
	hasAll(): boolean {
		if (this.#held.length > 0 || !this.#isResting) return false;
		if (!this.#hasAll) this.ask();
		return this.#hasAll;
	}

	leave(): void {
		this.#stop.abort();
		this.#room?.resolve();
	}

	async #read(): Promise<void> {
		const { signal } = this.#stop;
		for (let pause = firstPauseMs; !signal.aborted; pause = Math.min(2 * pause, longestPauseMs)) {
			const isOver = await this.#readOnce().catch((error: unknown) => {
				// A child that is gone tells nothing more.
				this.#hasAll = isFinal(error);
				return this.#hasAll;
			});
			if (isOver) break;
			await sleep(pause, signal).catch(() => {});
		}
		this.#isResting = true;
		this.#wake();
	}

	/** Reads a stream to its end. Returns whether the child has no more to tell. */
	async #readOnce(): Promise<boolean> {
		const { signal } = this.#stop;
		const bytes = takeValue(await raceAbort(this.#open(this.#last), signal));
		this.#hasAll = bytes === undefined;
		if (bytes === undefined) return true;
		for await (const told of readLines<ToldEvent>(bytes, signal)) {
			this.#held.push(told);
			if (told.id !== undefined) this.#last = told.id;
			this.#hasAll = ends.has(told.event.type);
			this.#wake();
			if (this.#held.length >= mostHeld) await this.#waitForRoom();
		}
		return this.#hasAll;
	}

	async #waitForRoom(): Promise<void> {
		this.#room = createDeferred();
		await this.#room.promise;
		this.#room = undefined;
	}
}

/** The first and the longest pause before a session that cannot be reached is asked again, in milliseconds. */
const [firstTryMs, longestTryMs] = [250, 5_000];

/** Makes a call of another session until there is an answer that a later try would not change. */
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

/** Whether another session has refused a call, so that a later try would be refused, too. */
function isFinal(error: unknown): boolean {
	return error instanceof RunletError && !['overloaded', 'storage_unavailable'].includes(error.code);
}
