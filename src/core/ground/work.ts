import { RunletError } from './errors.ts';

/**
 * A computation that yields when other requests should get a turn. `Work.do` runs it. It counts steps, because a Worker's
 * clock stands still while the Worker computes.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Counts steps. Returns whether it is time to yield. */
export interface StepCounter {
	spend(steps: number): boolean;
}

/** Counts nothing, for short computations. */
export const uncounted: StepCounter = { spend: () => false };

/** Steps before other requests get a turn. A step is about 10 ns: to look at a character, a line, or a value. */
const mostAtOnce = 250_000;

/** Steps of one call of a tool: a few seconds. */
const mostSteps = 200_000_000;

interface WorkOptions {
	/** Ends the work between two pieces of it. */
	readonly signal?: AbortSignal;
	/** The argument that makes it long, and what to do instead, for the model. */
	readonly field: string;
	readonly remedy: string;
}

/**
 * The work of one call of a tool. It lets other requests work in between, and throws `too_large`, with the remedy, once it
 * is more than a few seconds of the processor.
 */
export class Work implements StepCounter {
	readonly #options: WorkOptions;
	#done = 0;
	#restedAt = 0;

	constructor(options: WorkOptions) {
		this.#options = options;
	}

	/** Whether it has exceeded its limit. */
	get isOver(): boolean {
		return this.#done > mostSteps;
	}

	spend(steps: number): boolean {
		this.#done += steps;
		if (this.isOver) {
			const { field, remedy } = this.#options;
			throw new RunletError('too_large', `${field}: this takes too long, so it was stopped. ${remedy}`, { field });
		}
		return this.#done - this.#restedAt > mostAtOnce;
	}

	/** Counts steps, and lets other requests work if it is time. */
	async add(steps: number): Promise<void> {
		if (this.spend(steps)) await this.#rest();
	}

	/** Runs a computation, and lets other requests work whenever it yields. */
	async do<T>(computation: Steps<T>): Promise<T> {
		for (;;) {
			const next = computation.next();
			if (next.done === true) return next.value;
			await this.#rest();
		}
	}

	async #rest(): Promise<void> {
		this.#restedAt = this.#done;
		await new Promise((resolve) => setTimeout(resolve, 0));
		this.#options.signal?.throwIfAborted();
	}
}

/** Runs a computation without a pause. */
export function doNow<T>(computation: Steps<T>): T {
	for (;;) {
		const next = computation.next();
		if (next.done === true) return next.value;
	}
}
