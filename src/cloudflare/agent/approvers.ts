import type { Actor } from '../../core/base/actor.ts';

/** A decision that somebody wants to make about a call. */
export interface ApprovalRequest {
	/** Who decides. Where that is one of the askers, by whatever way they came, it is that asker. */
	readonly by: Actor;
	/** Those whose messages led to the call: the message that the run answers, and all that came behind it. */
	readonly askers: readonly Actor[];
	/** What they decide. */
	readonly approve: boolean;
	readonly tool: string;
	/** The arguments that the call would run with. */
	readonly input: unknown;
	readonly sessionId: string;
	readonly owner: string;
	/** The person of the session. */
	readonly user?: string;
	readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Says whether somebody may decide about a call of an agent (docs/people.md). The call waits on for somebody else unless it
 * gives `true`. It is asked while the decision is stored, so it gives its answer at once: a promise is no `true`.
 */
export type Approvers = (request: ApprovalRequest) => boolean;
