import { createDeferred, type Deferred } from '../ground/deferred.ts';

/** Events that may wait for a reader before whoever makes them is asked to pause. */
const highWater = 256;

/**
 * Runs `work` and yields what it pushes, in order, all that is there at once; returns what `work` returns, throws what
 * it throws. This is where a provider's callback becomes a pull: `push` gives nothing while the reader keeps up, and
 * else a promise for the moment when the reader has caught up. `onEvent` is told of each event as it is pushed.
 */
export async function* pushed<E, R>(
	work: (push: (event: E) => undefined | Promise<void>) => Promise<R>,
	onEvent: (event: E) => void = () => {},
): AsyncGenerator<E[], R> {
	let batch: E[] = [];
	let wake: (() => void) | undefined;
	let drained: Deferred<void> | undefined;
	let settled = false;

	const push = (event: E): undefined | Promise<void> => {
		batch.push(event);
		onEvent(event);
		wake?.();
		if (batch.length < highWater) return undefined;
		drained ??= createDeferred<void>();
		return drained.promise;
	};
	const running = work(push).finally(() => {
		settled = true;
		wake?.();
	});
	// The reader may have gone when it settles; whoever still waits gets it from `running` itself.
	running.catch(() => {});

	try {
		for (;;) {
			if (batch.length > 0) {
				const full = batch;
				batch = [];
				yield full;
				drained?.resolve();
				drained = undefined;
			} else if (settled) {
				return await running;
			} else {
				await new Promise<void>((resolve) => {
					wake = resolve;
				});
				wake = undefined;
			}
		}
	} finally {
		drained?.resolve();
	}
}
