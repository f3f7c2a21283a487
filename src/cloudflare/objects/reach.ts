import { RunletError } from '../../core/ground/errors.ts';
import { withTimeLimit } from '../../core/ground/time-limit.ts';
import { log, toFailureFields } from '../log.ts';
import { findMissingSqlite } from './sqlite.ts';

/** How a call to another object is made. */
export interface ReachOptions {
	/** The name in the error: "The ledger of this key". */
	readonly what: string;
	/** Whether the call may be made twice without doing anything twice. */
	readonly isSafe: boolean;
	/** How long it may take, in milliseconds. For ever if it is missing. */
	readonly timeoutMs?: number;
}

/** How long a ledger, a directory or KV may take, in milliseconds. */
export const usualLimitMs = 5_000;

/** The most tries of a call. */
const mostTries = 3;
/** When a client should try again, in seconds. */
const retryAfter = 5;

/**
 * Calls a Durable Object. A safe call that fails with `.retryable` is made again on a new stub, unless the object is
 * overloaded. Otherwise, or after too long a time, it throws `overloaded`, which is a 503 with `Retry-After`. An object
 * without SQLite is `not_configured`.
 *
 * @param call makes the call, each time on a new stub, because a stub that failed stays broken
 */
export async function reach<T>(call: () => PromiseLike<T>, { what, isSafe, timeoutMs }: ReachOptions): Promise<T> {
	for (let tries = 1; ; tries++) {
		try {
			const answer = call();
			return await (timeoutMs === undefined ? answer : withTimeLimit(answer, timeoutMs, what));
		} catch (cause) {
			// An error before the call, such as a missing permission, is about the request and not about the object.
			if (cause instanceof RunletError && cause.code !== 'timeout') throw cause;
			const missing = findMissingSqlite(cause);
			if (missing !== undefined) throw missing;
			if (isSafe && tries < mostTries && isMarked(cause, 'retryable') && !isMarked(cause, 'overloaded')) {
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
