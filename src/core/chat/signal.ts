import { createDeferred } from '../ground/deferred.ts';
import { RunletError } from '../ground/errors.ts';

/** The longest time of a timer in milliseconds. A longer one would fire at once. */
export const longestTimer = 2 ** 31 - 1;

/** Returns the error of an aborted signal: its reason if that is a `RunletError`, else `cancelled`. */
export function toAbortError(signal: AbortSignal): RunletError {
	const reason: unknown = signal.reason;
	return reason instanceof RunletError ? reason : new RunletError('cancelled', 'The run was cancelled.');
}

/** Waits for a promise, or throws at an abort. Leaves no listener on the signal. */
export async function raceAbort<T>(promise: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
	const abort = createDeferred<never>();
	const onAbort = (): void => abort.reject(toAbortError(signal));
	// The race also runs if the signal is aborted already, so that the promise cannot reject unhandled.
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
