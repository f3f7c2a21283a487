/** Somebody who asks an agent, or who decides about its calls. */
export interface Person {
	/** How they come: by an API key, an account of your product, a token of the session, a link, or as a sender. */
	readonly via: 'key' | 'account' | 'token' | 'link' | 'sender';
	/**
	 * The id of the key, the owner of the account, or the sender of a webhook. Of a token and a link whom it was made `for`; if
	 * that is missing, the id of the token, and nothing for a link.
	 */
	readonly id: string;
}

/** A decision that somebody wants to make about a call. */
export interface ApprovalRequest {
	readonly by: Person;
	/** Those whose messages led to the call: the message that the run answers, and all that came behind it. */
	readonly askers: readonly Person[];
	/** What they decide. */
	readonly approve: boolean;
	readonly tool: string;
	/** The arguments that the call would run with. */
	readonly input: unknown;
	readonly sessionId: string;
	readonly metadata: Readonly<Record<string, string>>;
}

/**
 * Says whether somebody may decide about a call of an agent (docs/people.md). The call waits on for somebody else unless it
 * gives `true`. It is asked while the decision is stored, so it gives its answer at once: a promise is no `true`.
 */
export type Approvers = (request: ApprovalRequest) => boolean;
