import type { Actor } from '../../core/base/actor.ts';

export interface ApprovalRequest {
	/** The person who decides: an entry of `askers` if the person is an asker, or uses an asker's token or link. */
	readonly by: Actor;
	/** The senders of the message that the run answers, and the senders of later messages. */
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
 * Whether a person is allowed to decide about a call (docs/people.md). If the function returns anything but `true`, the
 * call waits for another person. A promise is not `true`: the function must be synchronous.
 */
export type Approvers = (request: ApprovalRequest) => boolean;
