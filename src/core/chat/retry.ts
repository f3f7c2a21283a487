import { isRetryable, readRetryAfter, readUsage, toModelError, withUsage } from './model-error.ts';
import type { ChatReply } from './reply.ts';
import { sleep, toAbortError } from './signal.ts';
import { addUsage, type ChatUsage } from './usage.ts';

/** A `retry-after` beyond this many seconds is not waited for: the call counts as failed. */
const longestWait = 60;

export interface RetryOptions<R> {
	readonly model: string;
	readonly maxRetries: number;
	readonly signal: AbortSignal;
	/** Whether the call may be made again now; always, if missing. */
	readonly mayRetry?: () => boolean;
	/** Adds to a reply what the failed tries cost. */
	readonly addLost?: (reply: R, lost: ChatUsage) => R;
}

/**
 * Makes a call, and makes it again after a failure that may pass. The usage of the tries that failed counts in the reply,
 * and in the error.
 */
export async function retry<R>(
	call: () => Promise<R>,
	{ model, maxRetries, signal, mayRetry = () => true, addLost = (reply) => reply }: RetryOptions<R>,
): Promise<R> {
	let lost: ChatUsage | undefined;
	for (let retries = 0; ; retries++) {
		try {
			const reply = await call();
			return lost === undefined ? reply : addLost(reply, lost);
		} catch (thrown) {
			const failure = toModelError(thrown, model);
			const spent = readUsage(failure);
			lost = lost === undefined ? spent : addUsage(lost, spent);
			const error = withUsage(failure, lost ?? {});
			const wait = readRetryAfter(error);
			const isWorthIt = retries < maxRetries && isRetryable(error) && (wait ?? 0) <= longestWait;
			if (!isWorthIt || signal.aborted || !mayRetry()) throw error;
			await sleep(wait === undefined ? computeBackoff(retries) : wait * 1000, signal).catch(() => {
				throw withUsage(toAbortError(signal), lost ?? {});
			});
		}
	}
}

/** A reply that also counts what failed tries cost. */
export function addLostUsage<R extends ChatReply>(reply: R, lost: ChatUsage): R {
	return { ...reply, usage: addUsage(lost, reply.usage) };
}

/** Milliseconds before the next try: half a second, doubled each time, half of it by chance. */
function computeBackoff(retries: number): number {
	return 500 * 2 ** retries * (0.5 + Math.random() / 2);
}
