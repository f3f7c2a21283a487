/** What a slow object is made with. */
interface SlowOptions {
	/** Calls a second that it can do. */
	readonly callsPerSecond: number;
	/** The object is aborted after so many calls. */
	readonly callsPerLife: number;
}

/** The time of a refusal, as a share of that of a call that is done. */
const refusalShare = 1 / 40;

/** An object that takes its time: calls wait in a queue, as they do before an object that computes. */
export class SlowObject {
	readonly #state: DurableObjectState;
	readonly #options: SlowOptions | undefined;
	#last: Promise<unknown> = Promise.resolve();
	/** When it has done all that it began, in milliseconds since 1970. */
	#freeAt = 0;
	#calls = 0;

	constructor(state: DurableObjectState, options: SlowOptions | undefined) {
		this.#state = state;
		this.#options = options;
	}

	/** Does a call when those before it are done. */
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
				// A machine that is busy wakes it late; the next call makes up for that.
				this.#freeAt = Math.max(this.#freeAt, cameAt) + (1_000 * share) / callsPerSecond;
				await scheduler.wait(Math.max(0, this.#freeAt - Date.now()));
			}
		});
		this.#last = done.catch(() => {});
		return done;
	}
}
