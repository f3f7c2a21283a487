/** How long to wait, in milliseconds, before a call counts as lost. */
export interface Timeouts {
	/** Until the first event of a stream, 120,000; or the reply of a call that does not stream, 600,000. */
	readonly firstEventMs?: number;
	/** Between two events of a stream, also those that say nothing; 300,000. */
	readonly idleMs?: number;
	/** For each tool; 120,000. */
	readonly toolMs?: number;
	/** For the whole run; 1,800,000. */
	readonly runMs?: number;
}
