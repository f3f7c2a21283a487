import { RunletError } from './errors.ts';

/** A promise with its `resolve` and `reject`. Node 20 has no `Promise.withResolvers`. */
export interface Deferred<T> {
	readonly promise: Promise<T>;
	readonly resolve: (value: T | PromiseLike<T>) => void;
	readonly reject: (reason: unknown) => void;
}

export function createDeferred<T>(): Deferred<T> {
	let resolve: Deferred<T>['resolve'] = () => {};
	let reject: Deferred<T>['reject'] = () => {};
	const promise = new Promise<T>((...settle) => {
		[resolve, reject] = settle;
	});
	return { promise, resolve, reject };
}

/** Waits for a promise. Throws `timeout` after `ms` milliseconds; a later result is dropped. */
export async function withTimeLimit<T>(work: PromiseLike<T>, ms: number, what: string): Promise<T> {
	let timer: ReturnType<typeof setTimeout> | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(new RunletError('timeout', `${what} did not answer within ${ms} ms.`)), ms);
	});
	try {
		return await Promise.race([work, late]);
	} finally {
		if (timer !== undefined) clearTimeout(timer);
	}
}

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
