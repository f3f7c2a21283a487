import { RunletError } from '../../core/ground/errors.ts';
import { withTimeLimit } from '../../core/ground/time-limit.ts';
import { log, toFailureFields } from '../log.ts';

/** How a call to another object is made. */
export interface ReachOptions {
	/** What is called, as the error names it: "The ledger of this key". */
	readonly what: string;
	/** Whether nothing happens twice where the call is made twice. */
	readonly isSafe: boolean;
	/** How long it may take, in milliseconds; without it, for ever. */
	readonly timeoutMs?: number;
}

/** What a ledger, a directory or KV has to answer in, in milliseconds. */
export const usualLimitMs = 5_000;

/** Times that a call is made. */
const mostTries = 3;
/** When to come again, in seconds. */
const retryAfter = 5;

/**
 * Calls a Durable Object. A safe call that failed with `.retryable` is made again on a new stub; one that is not safe,
 * that met an overloaded object, or that took too long is not. Then it throws `overloaded`, which is a 503 with
 * `Retry-After`.
 *
 * @param call makes the call, on a stub of its own each time: one that has failed stays broken.
 */
export async function reach<T>(call: () => PromiseLike<T>, { what, isSafe, timeoutMs }: ReachOptions): Promise<T> {
	for (let tries = 1; ; tries++) {
		try {
			const answer = call();
			return await (timeoutMs === undefined ? answer : withTimeLimit(answer, timeoutMs, what));
		} catch (cause) {
			// What is wrong before it asks, such as who may not, is about the request and not about the object.
			if (cause instanceof RunletError && cause.code !== 'timeout') throw cause;
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
