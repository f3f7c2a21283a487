import { RunletError } from '../../core/base/errors.ts';
import { withTimeLimit } from '../../core/base/promises.ts';
import { log, toFailureFields } from '../log.ts';
import { RetryBudget } from './admission.ts';
import { findMissingSqlite } from './missing-sqlite.ts';

export interface ReachOptions {
	/** The subject of the error: "The ledger of this key". */
	readonly what: string;
	/** Whether a repeated call has no further effect. */
	readonly isSafe: boolean;
	/** Milliseconds for all attempts. Unlimited if it is missing. */
	readonly timeoutMs?: number;
}

/** Milliseconds for a ledger, a directory or KV. */
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
 * milliseconds since 1970, so that the object drops what comes later
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
			// An error before the call, such as a missing permission, is not about the object.
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
