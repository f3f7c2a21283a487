import { createDeferred } from '../ground/deferred.ts';
import { RunletError } from '../ground/errors.ts';

/** The longest time that a timer can wait, in milliseconds; a longer one would fire at once. */
export const longestTimer = 2 ** 31 - 1;

/** The error that an aborted signal ends a run with: its reason if that is a `RunletError`, else `cancelled`. */
export function toAbortError(signal: AbortSignal): RunletError {
	const reason: unknown = signal.reason;
	return reason instanceof RunletError ? reason : new RunletError('cancelled', 'The run was cancelled.');
}

/** Waits for the promise, or throws at an abort if that comes first. Leaves nothing behind on the signal. */
export async function raceAbort<T>(promise: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
	const abort = createDeferred<never>();
	const onAbort = (): void => abort.reject(toAbortError(signal));
	// The race also runs when the signal is aborted already, so that the promise cannot fail unhandled.
	if (signal.aborted) onAbort();
	signal.addEventListener('abort', onAbort, { once: true });
	try {
		return await Promise.race([abort.promise, promise]);
	} finally {
		signal.removeEventListener('abort', onAbort);
	}
}

/** Waits, or throws at once when the signal aborts. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	try {
		await raceAbort(
			new Promise<void>((resolve) => {
				timer = setTimeout(resolve, ms);
			}),
			signal,
		);
	} finally {
		if (timer !== undefined) clearTimeout(timer);
	}
}
