interface SlowOptions {
	/** The capacity, in calls a second. */
	readonly callsPerSecond: number;
	/** The number of calls after which the object is aborted. */
	readonly callsPerLife: number;
}

/** The time of a refusal, as a share of the time of a successful call. */
const refusalShare = 1 / 40;

/** An object with a limited capacity. Calls wait in a queue, as before a busy Durable Object. */
export class SlowObject {
	readonly #state: DurableObjectState;
	readonly #options: SlowOptions | undefined;
	#last: Promise<unknown> = Promise.resolve();
	/** The time at which the queue will be empty, in milliseconds since 1970. */
	#freeAt = 0;
	#calls = 0;

	constructor(state: DurableObjectState, options: SlowOptions | undefined) {
		this.#state = state;
		this.#options = options;
	}

	/** Makes a call after the earlier calls. */
	take<T>(call: () => Promise<T>): Promise<T> {
		if (this.#options === undefined) return call();
		const { callsPerSecond, callsPerLife } = this.#options;
		const cameAt = Date.now();
		const done = this.#last.then(async () => {
			if (++this.#calls > callsPerLife) this.#state.abort('it has lived long enough');
			let share = refusalShare;
			try {
				const answer = await call();
				share = 1;
				return answer;
			} finally {
				// A busy machine fires the timer late. The next call compensates for the delay.
				this.#freeAt = Math.max(this.#freeAt, cameAt) + (1_000 * share) / callsPerSecond;
				await scheduler.wait(Math.max(0, this.#freeAt - Date.now()));
			}
		});
		this.#last = done.catch(() => {});
		return done;
	}
}
