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
