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
