/** How long to wait, in milliseconds, before a call counts as lost. */
export interface Timeouts {
	/** Until the first event of a stream, 120,000; or the reply of a call that does not stream, 600,000. */
	readonly firstEventMs?: number | undefined;
	/** Between two events of a stream, also those that say nothing; 300,000. */
	readonly idleMs?: number | undefined;
	/** For each tool; 120,000. */
	readonly toolMs?: number | undefined;
	/** For the whole run; 1,800,000. */
	readonly runMs?: number | undefined;
}
