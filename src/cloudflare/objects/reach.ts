import { type ErrorBody, RunletError, toErrorBody, toRunletError } from '../../core/base/errors.ts';
import { withTimeLimit } from '../../core/base/promises.ts';
import { log, logUnexpected, toFailureFields } from '../log.ts';
import { findMissingSqlite } from './missing-sqlite.ts';

/** Seconds after which the first clients try again, and seconds over which the other retries are spread. */
const [soonest, spread] = [1, 4];

/** Creates the error of a call that is refused before any of its work is done. */
export function createBusy(what: string): RunletError {
	const retryAfter = soonest + Math.floor(spread * Math.random());
	return new RunletError('overloaded', `${what} has too much to do now. Try again in a moment.`, { retryAfter });
}

/**
 * Throws `overloaded` for a call that comes after its caller stopped waiting.
 *
 * @param deadline milliseconds since 1970. Missing if the caller sets no limit
 * @param spareMs milliseconds before the deadline. More spare time refuses the work earlier
 */
export function assertInTime(deadline: number | undefined, spareMs = 0): void {
	if (deadline !== undefined && Date.now() + spareMs >= deadline) throw createBusy('This object');
}

/**
 * Milliseconds after which an unanswered call shows that its object is behind. If this isolate itself is slow, each
 * millisecond that its timer is late adds ten milliseconds.
 */
const [lateMs, lateByLag] = [500, 10];
/** The longest time, in milliseconds, that a caller waits. */
const longestMs = 10_000;
/** Milliseconds for which an object still counts as behind after its last late call or refusal. */
const behindMs = 5_000;
/** An object that is behind gets no new work if it has this many open calls and this expected wait in milliseconds. */
const [fewestWaiting, mostWaitMs] = [4, 1_000];
const mostKnown = 1_000;

interface Load {
	/** The start of each open call, the oldest first. */
	readonly calls: Set<{ readonly at: number }>;
	behindUntil: number;
	/** The time of the newest answer, or of the first call. `betweenMs`: the usual time between two answers. */
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
			// An object answers in order. So an earlier call without an answer went to an instance that is gone.
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

/** The share of calls that can be retries, and the maximum number of retries in a burst. */
const [share, mostSaved] = [0.1, 50];

export class RetryBudget {
	#saved = mostSaved;

	earn(): void {
		this.#saved = Math.min(mostSaved, this.#saved + share);
	}

	/** Uses up a retry. Returns false if no retry is left. */
	spend(): boolean {
		if (this.#saved < 1) return false;
		this.#saved--;
		return true;
	}
}

export interface ReachOptions {
	/** The subject of the error: "The ledger of this key". */
	readonly what: string;
	/** Whether a repeated call has no further effect. */
	readonly isSafe: boolean;
	/** Milliseconds for all attempts. Unlimited if it is missing. */
	readonly timeoutMs?: number;
}

/** The usual time limit of calls to a ledger, a directory or KV, in milliseconds. */
export const usualLimitMs = 5_000;

const mostTries = 3;
const retries = new RetryBudget();
/** Seconds until a client should try again. */
const retryAfter = 5;

/**
 * Calls a Durable Object. Repeats a safe call that fails with `.retryable`, unless the object is overloaded or too many
 * calls of this isolate are retries. Otherwise, or after the timeout, it throws `overloaded` (503 with `Retry-After`),
 * and `not_configured` for an object without SQLite.
 *
 * @param call gets a new stub for each attempt, because a failed stub stays broken. It passes on the deadline, in
 * milliseconds since 1970, so that the object refuses calls that arrive later
 */
export async function reach<T>(
	call: (deadline: number) => PromiseLike<T>,
	{ what, isSafe, timeoutMs = Number.POSITIVE_INFINITY }: ReachOptions,
): Promise<T> {
	const deadline = Date.now() + timeoutMs;
	retries.earn();
	for (let tries = 1; ; tries++) {
		try {
			const answer = call(deadline);
			return await (deadline === Infinity ? answer : withTimeLimit(answer, deadline - Date.now(), what));
		} catch (cause) {
			// An error before the call, such as a missing permission, does not come from the object.
			if (cause instanceof RunletError && cause.code !== 'timeout') throw cause;
			const missing = findMissingSqlite(cause);
			if (missing !== undefined) throw missing;
			const mayPass = tries < mostTries && isMarked(cause, 'retryable') && !isMarked(cause, 'overloaded');
			if (isSafe && mayPass && retries.spend()) {
				await new Promise((resolve) => setTimeout(resolve, 50 * 4 ** (tries - 1) * Math.random()));
				continue;
			}
			log('warn', 'object.not_reached', toFailureFields(cause));
			const message = `${what} cannot be reached now. Try again in a moment.`;
			throw new RunletError('overloaded', message, { retryAfter }, { cause });
		}
	}
}

function isMarked(error: unknown, mark: 'overloaded' | 'retryable'): boolean {
	return typeof error === 'object' && error !== null && Reflect.get(error, mark) === true;
}

/** An answer over RPC. A failure is plain data, because a thrown error would lose its class and its code. */
export type RpcResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Failure };

export type Failure = ErrorBody['error'];

/** Does the work of an object's method. Never rejects. Logs unexpected errors: the answer omits their causes. */
export async function toRpcResult<T>(work: () => Promise<T>): Promise<RpcResult<T>> {
	try {
		return { ok: true, value: await work() };
	} catch (error) {
		logUnexpected(error);
		return { ok: false, error: toFailure(toRunletError(error)) };
	}
}

/** Throws the failure of a result, without its cause. */
export function takeValue<T>(result: RpcResult<T>): T {
	// A result keeps its object alive until the result is disposed of. A stream in the result stays open.
	const dispose: unknown = Reflect.get(result, Symbol.dispose);
	if (typeof dispose === 'function') Reflect.apply(dispose, result, []);
	if (result.ok) return result.value;
	throw toError(result.error);
}

export type Bytes = ReadableStream<Uint8Array>;

export function toByteStream(text: string): Bytes {
	return new Blob([text]).stream();
}

export function toJsonStream(value: object): Bytes {
	return toByteStream(JSON.stringify(value));
}

/** Returns an error as plain data. Keeps only the parts of the error's data that are JSON. */
export function toFailure(error: RunletError): Failure {
	const body: ErrorBody = JSON.parse(JSON.stringify(toErrorBody(error)));
	return body.error;
}

export function toError({ code, message, data }: Failure): RunletError {
	return new RunletError(code, message, data);
}
