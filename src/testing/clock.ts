import { replaceDate } from '../replay/clock.ts';

/** A stopped clock that a test moves. */
export interface Clock {
	/** Advances the time by milliseconds. Runs the timers that become due, in order. */
	advance(ms: number): Promise<void>;
	/** Restores the real clock. */
	stop(): void;
}

interface Timer {
	readonly due: number;
	readonly work: () => void;
}

/**
 * Stops the time at a moment. `new Date()`, `Date.now()`, `setTimeout` and `clearTimeout` then use the returned clock,
 * so a test does not have to wait for a time limit or a retry. Throws if a clock is already stopped.
 */
export function stopClock(at: Date | string | number): Clock {
	const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
	if (stopped.has(real.setTimeout))
		throw new Error('The clock is stopped already. Call stop() of the other one first.');
	const timers = new Map<object, Timer>();
	let now = new Date(at).getTime();
	if (Number.isNaN(now)) throw new Error('at: expected a date, such as 2026-01-31T09:00:00Z.');

	const setTimeout = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
		const timer = { ref: () => timer, unref: () => timer, hasRef: () => false };
		timers.set(timer, { due: now + Math.max(0, Number(ms) || 0), work: () => work(...args) });
		return timer;
	};
	stopped.add(setTimeout);
	const date = replaceDate(() => now);
	Object.assign(globalThis, { setTimeout, clearTimeout: (timer: object) => timers.delete(timer) });

	const settle = () => new Promise<void>((resolve) => real.setTimeout(resolve, 0));
	const runNext = (until: number): boolean => {
		const next = [...timers].filter(([, { due }]) => due <= until).toSorted(([, a], [, b]) => a.due - b.due)[0];
		if (next === undefined) return false;
		const [timer, { due, work }] = next;
		timers.delete(timer);
		now = Math.max(now, due);
		work();
		return true;
	};
	return {
		advance: async (ms) => {
			const until = now + ms;
			await settle();
			while (runNext(until)) await settle();
			now = until;
		},
		stop: () => {
			date.restore();
			Object.assign(globalThis, real);
		},
	};
}

/** The `setTimeout` functions of all stopped clocks. */
const stopped = new WeakSet<object>();
