/** When a session is woken: one of `cron`, `every` and `at` (docs/schedules.md, "Times"). */
export interface WakeupTime {
	/** Minute, hour, day, month and weekday: `0 9 * * MON-FRI`. */
	readonly cron?: string;
	/** A number and `m`, `h`, `d` or `w`: `30m`. At least a minute. */
	readonly every?: string;
	/** Once, at a time with its offset: `2026-11-24T09:00:00+01:00`. */
	readonly at?: string;
	/** The time zone of `cron`, by its IANA name. UTC if it is missing. */
	readonly timezone?: string;
}

/** A wake-up to be set. One of the same name takes the place of the one before. */
export interface NewWakeup extends WakeupTime {
	/** a–z, 0–9 and hyphens. */
	readonly name: string;
	/** The message that the session is sent. */
	readonly text: string;
}

/** What became of a time: a run began, or why none did. Times are ISO texts. */
export interface LastWake {
	readonly at: string;
	readonly outcome: 'ran' | 'skipped' | 'failed';
	readonly sessionId?: string;
	readonly runId?: string;
	readonly reason?: string;
}

export interface Wakeup extends NewWakeup {
	/** Missing once the last time is over. */
	readonly nextAt?: string;
	readonly last?: LastWake;
}

/** The wake-ups of a session. */
export interface Wakeups {
	/** Throws `invalid_argument`, which names the field. */
	set(wakeup: NewWakeup): Promise<Wakeup>;
	list(): Promise<readonly Wakeup[]>;
	/** Returns whether there was one of that name. */
	cancel(name: string): Promise<boolean>;
}
