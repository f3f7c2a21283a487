import { RunletError } from '../../core/base/errors.ts';
import { withTimeLimit } from '../../core/base/promises.ts';
import { log, toFailureFields } from '../log.ts';
import { RetryBudget } from './admission.ts';
import { findMissingSqlite } from './missing-sqlite.ts';

/** How a call to another object is made. */
export interface ReachOptions {
	/** The name in the error: "The ledger of this key". */
	readonly what: string;
	/** Whether the call may be made twice without doing anything twice. */
	readonly isSafe: boolean;
	/** How long it may take with all tries, in milliseconds. For ever if it is missing. */
	readonly timeoutMs?: number;
}

/** How long a ledger, a directory or KV may take, in milliseconds. */
export const usualLimitMs = 5_000;

/** The most tries of a call. */
const mostTries = 3;
/** The retries of this isolate, whichever objects they are for. */
const retries = new RetryBudget();
/** When a client should try again, in seconds. */
const retryAfter = 5;

/**
 * Calls a Durable Object. A safe call that fails with `.retryable` is made again on a new stub, unless the object is
 * overloaded or too many of this isolate's calls are retries. Otherwise, or after too long a time, it throws `overloaded`,
 * which is a 503 with `Retry-After`. An object without SQLite is `not_configured`.
 *
 * @param call makes the call, each time on a new stub, because a stub that failed stays broken. It says until when
 * somebody waits, in milliseconds since 1970, so that the object drops what comes later
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
			// An error before the call, such as a missing permission, is about the request and not about the object.
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
