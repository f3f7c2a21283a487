/** The time of a replay: `new Date()` and `Date.now()` show the recorded time. Timers keep the real time. */
export interface ReplayClock {
	set(time: string): void;
	/** Shows the real time while the work runs, because time limits and prices of real models need it. */
	withRealTime<T>(work: () => T | Promise<T>): Promise<T>;
	stop(): void;
}

/** Lets a replay set the time of `Date`. Only one clock at a time may run. */
export function startClock(): ReplayClock {
	let now: number | undefined;
	let running = 0;
	const date = replaceDate((real) => (running > 0 ? real.now() : (now ?? real.now())));
	return {
		set: (time) => {
			now = date.real.parse(time);
		},
		withRealTime: async (work) => {
			running++;
			try {
				return await work();
			} finally {
				running--;
			}
		},
		stop: date.restore,
	};
}

/** Replaces `Date`, so that `new Date()`, `Date()` and `Date.now()` show the time that `now` returns, in milliseconds. */
export function replaceDate(now: (real: DateConstructor) => number): {
	readonly real: DateConstructor;
	readonly restore: () => void;
} {
	const real = globalThis.Date;
	globalThis.Date = new Proxy(real, {
		construct: (target, args, newTarget) =>
			Reflect.construct(target, args.length === 0 ? [now(real)] : args, newTarget),
		apply: () => new real(now(real)).toString(),
		get: (target, name, receiver) => (name === 'now' ? () => now(real) : Reflect.get(target, name, receiver)),
	});
	return {
		real,
		restore: () => {
			globalThis.Date = real;
		},
	};
}
