import type { Actor } from '../../core/base/actor.ts';

/** A decision about a call. */
export interface ApprovalRequest {
	/** Who decides. An asker is the same actor, by whatever way they came. */
	readonly by: Actor;
	/** Who sent the message that the run answers, or a later one. */
	readonly askers: readonly Actor[];
	readonly approve: boolean;
	readonly tool: string;
	/** The arguments of the call. */
	readonly input: unknown;
	readonly sessionId: string;
	readonly owner: string;
	/** The user of the session. */
	readonly user?: string;
	readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Whether somebody may decide about a call (docs/people.md). Unless it returns `true` the call waits for somebody else.
 * A promise is not `true`: the answer is needed while the decision is stored.
 */
export type Approvers = (request: ApprovalRequest) => boolean;
