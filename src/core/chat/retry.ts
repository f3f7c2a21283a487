import { isRetryable, readRetryAfter, readUsage, toModelError, withUsage } from './model-error.ts';
import type { ChatReply } from './reply.ts';
import { sleep, toAbortError } from './signal.ts';
import { addUsage, type ChatUsage } from './usage.ts';

/** The longest `retry-after` in seconds that is waited for. Beyond it the call counts as failed. */
const longestWait = 60;

export interface RetryOptions<R> {
	readonly model: string;
	readonly maxRetries: number;
	readonly signal: AbortSignal;
	/** Whether the call may be repeated now. The default is yes. */
	readonly mayRetry?: () => boolean;
	/** Adds the cost of failed tries to a reply. */
	readonly addLost?: (reply: R, lost: ChatUsage) => R;
}

/**
 * Makes a call and repeats it after a failure that may pass. The usage of failed tries counts in the reply and in the
 * error.
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

/** Adds the usage of failed tries to a reply. */
export function addLostUsage<R extends ChatReply>(reply: R, lost: ChatUsage): R {
	return { ...reply, usage: addUsage(lost, reply.usage) };
}

/** Returns the milliseconds before the next try: half a second, doubled each time, with half of it random. */
function computeBackoff(retries: number): number {
	return 500 * 2 ** retries * (0.5 + Math.random() / 2);
}
