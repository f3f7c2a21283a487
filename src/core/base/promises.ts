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
