import { RunletError } from './errors.ts';

/**
 * A computation that yields to other requests. `Work.do` runs it. It counts steps, because the clock of a Worker does
 * not advance while the Worker computes.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Counts steps. `spend` returns whether it is time to yield. */
export interface StepCounter {
	spend(steps: number): boolean;
}

/** Counts nothing, for short computations. */
export const uncounted: StepCounter = { spend: () => false };

/** Steps between two yields. A step takes about 10 ns: a look at a character, a line or a value. */
const mostAtOnce = 100_000;

/** The maximum number of steps of one tool call: a few seconds. */
const mostSteps = 200_000_000;

interface WorkOptions {
	/** Aborts the work at its next yield. */
	readonly signal?: AbortSignal;
	/** For the error message: the argument that causes the work, and the remedy. */
	readonly field: string;
	readonly remedy: string;
}

/** The work of one tool call. Yields to other requests. Throws `too_large` after a few seconds of processor time. */
export class Work implements StepCounter {
	readonly #options: WorkOptions;
	#done = 0;
	#restedAt = 0;

	constructor(options: WorkOptions) {
		this.#options = options;
	}

	/** Whether the work has exceeded its limit. */
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

	/** Counts steps, and yields to other requests if it is time. */
	async add(steps: number): Promise<void> {
		if (this.spend(steps)) await this.#rest();
	}

	/** Runs a computation, and lets other requests run at each yield. */
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
