/** Time limits in milliseconds. */
export interface Timeouts {
	/** Until the first event of a stream, by default 120,000. For a reply without streaming, 600,000. */
	readonly firstEventMs?: number;
	/** Between two events of a stream, even empty ones. The default is 300,000. */
	readonly idleMs?: number;
	/** For each tool. The default is 120,000. */
	readonly toolMs?: number;
	/** For the whole run. The default is 1,800,000. */
	readonly runMs?: number;
}
