import type { StateStore, ToolContext } from '../tool/index.ts';

/** The context of a run's tools. */
export interface RunContext
	extends Partial<
		Pick<
			ToolContext,
			'sessionId' | 'runId' | 'skillContext' | 'env' | 'workspace' | 'shell' | 'fetch' | 'web' | 'wakeups'
		>
	> {
	/** Passed to the function `system`. */
	readonly metadata?: Readonly<Record<string, string>>;
	/** The state of the session. Without it the state lasts for this run. */
	readonly state?: StateStore;
}
