import type { Actor } from '../ground/actor.ts';
import type { StateStore, ToolContext } from '../tool/index.ts';

/** Returns who sent the newest message. */
export function readAskedBy({ askedBy }: Pick<RunContext, 'askedBy'>): Actor | undefined {
	return typeof askedBy === 'function' ? askedBy() : askedBy;
}

/** The context of a run's tools. */
export interface RunContext
	extends Partial<
		Pick<
			ToolContext,
			| 'sessionId'
			| 'runId'
			| 'owner'
			| 'user'
			| 'metadata'
			| 'skillContext'
			| 'env'
			| 'workspace'
			| 'shell'
			| 'fetch'
			| 'web'
			| 'wakeups'
		>
	> {
	/** Who sent the newest message, or a function that says it at each call. */
	readonly askedBy?: Actor | (() => Actor | undefined);
	/** Makes the name of a call for effects outside. Without it each call gets a random one. */
	readonly createKey?: (callId: string) => string;
	/** The state of the session. Without it the state lasts for this run. */
	readonly state?: StateStore;
}
