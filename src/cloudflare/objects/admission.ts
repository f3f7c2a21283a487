import { RunletError } from '../../core/base/errors.ts';

/** Seconds until the first clients try again, and over which the others are spread. */
const [soonest, spread] = [1, 4];

/** Refuses a call before any of it is done. */
export function createBusy(what: string): RunletError {
	const retryAfter = soonest + Math.floor(spread * Math.random());
	return new RunletError('overloaded', `${what} has too much to do now. Try again in a moment.`, { retryAfter });
}

/**
 * Throws `overloaded` for a call that comes after its caller stopped waiting.
 *
 * @param deadline milliseconds since 1970. Missing if the caller sets no limit
 * @param spareMs milliseconds before the deadline. More for work that is refused first
 */
export function assertInTime(deadline: number | undefined, spareMs = 0): void {
	if (deadline !== undefined && Date.now() + spareMs >= deadline) throw createBusy('This object');
}

/**
 * Milliseconds after which an open call shows that its object is behind. Ten more for each millisecond that a timer of
 * this isolate is late: then this isolate is the slow one.
 */
const [lateMs, lateByLag] = [500, 10];
/** Milliseconds. No caller waits longer. */
const longestMs = 10_000;
/** Milliseconds for which an object counts as behind after its last late call or refusal. */
const behindMs = 5_000;
/** The open calls, and the expected milliseconds, from which an object that is behind gets no new work. */
const [fewestWaiting, mostWaitMs] = [4, 1_000];
const mostKnown = 1_000;

interface Load {
	/** The start of each open call, the oldest first. */
	readonly calls: Set<{ readonly at: number }>;
	behindUntil: number;
	/** The newest answer, or the start of the first call, and the usual milliseconds between two answers. */
	answeredAt: number;
	betweenMs: number;
}

export class Loads {
	readonly #known = new Map<string, Load>();
	/** Milliseconds that a timer of this isolate was late. */
	#lagMs = 0;
	#isProbing = false;

	async watch<T>(id: string, call: () => Promise<T>): Promise<T> {
		const load = this.#find(id);
		this.#probe();
		const one = { at: Date.now() };
		if (load.calls.size === 0) load.answeredAt = one.at;
		load.calls.add(one);
		try {
			const answer = await call();
			const now = Date.now();
			// An object answers in order: an earlier call without an answer was made by an object that is gone.
			for (const earlier of load.calls)
				if (earlier.at < one.at) load.calls.delete(earlier);
				else break;
			load.betweenMs += (now - load.answeredAt - load.betweenMs) / 4;
			load.answeredAt = now;
			return answer;
		} finally {
			this.#note(load);
			load.calls.delete(one);
			if (load.calls.size === 0 && load.behindUntil <= Date.now()) this.#known.delete(id);
		}
	}

	/** Throws `overloaded`, without a call, if an object is behind and its open calls would take too long. */
	assertKeepsUp(id: string, what: string): void {
		const load = this.#known.get(id);
		if (load === undefined || !this.isBehind(id) || load.calls.size < fewestWaiting) return;
		const now = Date.now();
		if (load.calls.size * Math.max(load.betweenMs, now - load.answeredAt) < mostWaitMs) return;
		load.behindUntil = now + behindMs;
		throw createBusy(what);
	}

	/** Whether an object is behind, or was a moment ago. */
	isBehind(id: string): boolean {
		const load = this.#known.get(id);
		if (load === undefined) return false;
		this.#note(load);
		return Date.now() < load.behindUntil;
	}

	#find(id: string): Load {
		const load = this.#known.get(id) ?? { calls: new Set(), behindUntil: 0, answeredAt: 0, betweenMs: 0 };
		this.#known.set(id, load);
		const [oldest] = this.#known.keys();
		if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
		return load;
	}

	#note(load: Load): void {
		const now = Date.now();
		for (const call of load.calls)
			if (now - call.at > longestMs) load.calls.delete(call);
			else break;
		const [oldest] = load.calls;
		if (oldest !== undefined && now - oldest.at > lateMs + lateByLag * this.#lagMs) load.behindUntil = now + behindMs;
	}

	#probe(): void {
		if (this.#isProbing) return;
		this.#isProbing = true;
		const at = Date.now();
		setTimeout(() => {
			this.#isProbing = false;
			this.#lagMs = Math.max(Date.now() - at, this.#lagMs * 0.9);
		}, 0);
	}
}

export const loads = new Loads();

/** A tenth of all calls may be retries, and 50 at once. */
const [share, mostSaved] = [0.1, 50];

export class RetryBudget {
	#saved = mostSaved;

	earn(): void {
		this.#saved = Math.min(mostSaved, this.#saved + share);
	}

	/** Returns false if no retry is left. */
	spend(): boolean {
		if (this.#saved < 1) return false;
		this.#saved--;
		return true;
	}
}
