import { RunletError } from '../errors.ts';

/** The reason of an aborted signal as the error that a run ends with: its own `RunletError`, else `cancelled`. */
export function abortError(signal: AbortSignal): RunletError {
	const reason: unknown = signal.reason;
	return reason instanceof RunletError ? reason : new RunletError('cancelled', 'The run was cancelled.');
}

/** The promise, or the abort if that comes first. Leaves nothing behind on the signal. */
export async function abortable<T>(promise: T | PromiseLike<T>, signal: AbortSignal): Promise<T> {
	if (signal.aborted) throw abortError(signal);
	const abort = Promise.withResolvers<never>();
	const onAbort = (): void => abort.reject(abortError(signal));
	signal.addEventListener('abort', onAbort, { once: true });
	try {
		return await Promise.race([promise, abort.promise]);
	} finally {
		signal.removeEventListener('abort', onAbort);
	}
}

/** Waits, or throws at once when the signal aborts. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	try {
		await abortable(
			new Promise<void>((resolve) => {
				timer = setTimeout(resolve, ms);
			}),
			signal,
		);
	} finally {
		if (timer !== undefined) clearTimeout(timer);
	}
}
