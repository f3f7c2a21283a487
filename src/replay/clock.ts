/** The time of a replay: `new Date()` and `Date.now()` show the recorded time. Timers keep the real time. */
export interface ReplayClock {
	set(time: string): void;
	stop(): void;
}

/** Replaces `Date`. Only one clock at a time may run. */
export function startClock(): ReplayClock {
	const real = globalThis.Date;
	let now: number | undefined;
	globalThis.Date = new Proxy(real, {
		construct: (target, args, newTarget) =>
			Reflect.construct(target, args.length === 0 ? [now ?? real.now()] : args, newTarget),
		apply: () => new real(now ?? real.now()).toString(),
		get: (target, name, receiver) => (name === 'now' ? () => now ?? real.now() : Reflect.get(target, name, receiver)),
	});
	return {
		set: (time) => {
			now = real.parse(time);
		},
		stop: () => {
			globalThis.Date = real;
		},
	};
}
