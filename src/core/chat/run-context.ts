import type { StateStore, ToolContext } from '../tool/index.ts';

/** Who calls the tools of a run, and what they are given. */
export interface RunContext
	extends Partial<Pick<ToolContext, 'sessionId' | 'runId' | 'skillContext' | 'env' | 'workspace'>> {
	/** Given to the function `system`. */
	readonly metadata?: Readonly<Record<string, string>>;
	/** What the session remembers; in memory, for this run, if it is missing. */
	readonly state?: StateStore;
}
