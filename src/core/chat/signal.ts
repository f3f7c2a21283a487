import { RunletError } from '../base/errors.ts';

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
		Promise.resolve(promise).then(
			(value) => {
				leave();
				resolve(value);
			},
			(reason: unknown) => {
				leave();
				reject(reason);
			},
		);
	});
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
