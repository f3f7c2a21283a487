/** A silent connection gets a comment this often, in milliseconds, so that no proxy closes it. */
const keepAliveMs = 15_000;

/** What ends a wait: a change, a while of silence, the reader's leaving, or the end of its lease. */
export type Waking = 'change' | 'silence' | 'gone' | 'over';

/** The waits of one reader, one after another. They share a timer, because most of them are over long before it ends. */
export interface Waits {
	/** Waits for a change. Rejects if that does. */
	readonly waitFor: (change: Promise<unknown>) => Promise<Waking>;
	/** Ends the wait, if there is one. */
	readonly wake: (why: Waking) => void;
	/** Ends the timer. */
	readonly close: () => void;
}

/** @param left returns the milliseconds that the reader may still read; without it there is no limit. */
export function createWaits(left: () => number = () => keepAliveMs): Waits {
	let wake: ((why: Waking) => void) | undefined;
	let timer: ReturnType<typeof setTimeout> | undefined;
	/** When the wait counts as silent. */
	let due = 0;
	const check = (): void => {
		timer = undefined;
		if (wake === undefined) return;
		const ms = due - Date.now();
		if (ms > 0) timer = setTimeout(check, ms);
		else wake('silence');
	};
	return {
		waitFor: (change) =>
			new Promise((resolve, reject) => {
				const end = (why: Waking): void => {
					if (wake === end) wake = undefined;
					resolve(why);
				};
				wake = end;
				const ms = Math.max(0, Math.min(keepAliveMs, left()));
				due = Date.now() + ms;
				timer ??= setTimeout(check, ms);
				change.then(() => end('change'), reject);
			}),
		wake: (why) => wake?.(why),
		close: () => clearTimeout(timer),
	};
}
