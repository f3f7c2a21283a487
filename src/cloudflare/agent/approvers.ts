import type { Actor } from '../../core/base/actor.ts';

export interface ApprovalRequest {
	/** The person who decides. An asker is the same actor, by whatever way they come. */
	readonly by: Actor;
	/** The senders of the message that the run answers, and of later ones. */
	readonly askers: readonly Actor[];
	readonly approve: boolean;
	readonly tool: string;
	readonly input: unknown;
	readonly sessionId: string;
	readonly owner: string;
	/** The user of the session. */
	readonly user?: string;
	readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Whether a person may decide about a call (docs/people.md). Without `true` the call waits for another person. A
 * promise is not `true`: the answer is needed while the decision is stored.
 */
export type Approvers = (request: ApprovalRequest) => boolean;
