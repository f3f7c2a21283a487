import { RunletError } from '../base/errors.ts';
import { createDeferred } from '../base/promises.ts';

/** The longest time of a timer in milliseconds. A longer timer would fire at once. */
export const longestTimer = 2 ** 31 - 1;

/** Returns the error of an aborted signal: its reason if that is a `RunletError`, else `cancelled`. */
export function toAbortError(signal: AbortSignal): RunletError {
	const reason: unknown = signal.reason;
	return reason instanceof RunletError ? reason : new RunletError('cancelled', 'The run was cancelled.');
}

/** Waits for a promise, or throws at an abort. Handles a later rejection of the promise. */
export function raceAbort<T>(promise: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
	return new Promise((resolve, reject) => {
		const onAbort = (): void => reject(toAbortError(signal));
		const leave = (): void => signal.removeEventListener('abort', onAbort);
		if (signal.aborted) onAbort();
		else signal.addEventListener('abort', onAbort, { once: true });
		const leaveWith =
			<V>(end: (value: V) => void) =>
			(value: V): void => {
				leave();
				end(value);
			};
		Promise.resolve(promise).then(leaveWith(resolve), leaveWith(reject));
	});
}

/** Waits, or throws at once when the signal aborts. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
	const { promise, resolve } = createDeferred<void>();
	const timer = setTimeout(resolve, ms);
	try {
		await raceAbort(promise, signal);
	} finally {
		clearTimeout(timer);
	}
}
