/** A promise and what settles it: `Promise.withResolvers`, which Node 20 does not have. */
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
