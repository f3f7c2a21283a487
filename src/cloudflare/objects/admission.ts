import { RunletError } from '../../core/base/errors.ts';

/** The first second in which a client may try again, and the range over which clients are spread, in seconds. */
const [soonest, spread] = [1, 4];

/** Creates the refusal of an object that has too much to do. Nothing of the call was done. */
export function createBusy(what: string): RunletError {
	const retryAfter = soonest + Math.floor(spread * Math.random());
	return new RunletError('overloaded', `${what} has too much to do now. Try again in a moment.`, { retryAfter });
}

/**
 * Throws `overloaded` in an object that comes to a call too late: nobody waits for its answer any more.
 *
 * @param deadline until when the caller waits, in milliseconds since 1970. Missing if the caller sets no limit
 * @param spareMs how long before the deadline it is too late. More for what is refused first
 */
export function assertInTime(deadline: number | undefined, spareMs = 0): void {
	if (deadline !== undefined && Date.now() + spareMs >= deadline) throw createBusy('This object');
}

/**
 * An object whose calls take longer than this is behind, in milliseconds; and how much longer for each millisecond that a
 * timer of this isolate is late: then it is this isolate that has much to do.
 */
const [lateMs, lateByLag] = [500, 10];
/** Nobody waits longer for a call, in milliseconds. */
const longestMs = 10_000;
/** How long an object counts as behind after its last late call or its last refusal, in milliseconds. */
const behindMs = 5_000;
/** While an object is behind, new work is refused if so many of this isolate's calls wait, and would wait this long, in milliseconds. */
const [fewestWaiting, mostWaitMs] = [4, 1_000];
/** The most objects that are remembered. The oldest are forgotten. */
const mostKnown = 1_000;

interface Load {
	/** When the calls that are under way began, the oldest first. */
	readonly calls: Set<{ readonly at: number }>;
	behindUntil: number;
	/** When the newest answer came, or the first call began; and the usual time between two answers, in milliseconds. */
	answeredAt: number;
	betweenMs: number;
}

/** What this isolate knows of the load of other objects: how long its own calls to them take. */
export class Loads {
	readonly #known = new Map<string, Load>();
	/** How late a timer of this isolate was lately, in milliseconds. */
	#lagMs = 0;
	#isProbing = false;

	/** Makes a call of an object, and watches how long it takes. */
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

	/** Throws `overloaded` where an object is behind, and the calls that wait for it would take too long. It costs no call. */
	assertKeepsUp(id: string, what: string): void {
		const load = this.#known.get(id);
		if (load === undefined || !this.isBehind(id) || load.calls.size < fewestWaiting) return;
		const now = Date.now();
		if (load.calls.size * Math.max(load.betweenMs, now - load.answeredAt) < mostWaitMs) return;
		load.behindUntil = now + behindMs;
		throw createBusy(what);
	}

	/** Whether an object is behind, or was lately. */
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

	/** Measures how late a timer of this isolate is. */
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

/** What this isolate knows of all objects. */
export const loads = new Loads();

/** A tenth of all calls may be retries, and so many at once. */
const [share, mostSaved] = [0.1, 50];

/** The retries that this isolate may still make. Each call earns a part of one. */
export class RetryBudget {
	#saved = mostSaved;

	/** Counts a call. */
	earn(): void {
		this.#saved = Math.min(mostSaved, this.#saved + share);
	}

	/** Whether a retry may be made, which is counted. */
	spend(): boolean {
		if (this.#saved < 1) return false;
		this.#saved--;
		return true;
	}
}
