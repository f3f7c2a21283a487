import type { DecisionLinks, LinkedCall, LinkRequest } from '../../objects/link-api.ts';
import { createMissing } from '../../objects/missing.ts';
import type { Caller } from '../../objects/session-api.ts';
import type { CallbackLinks } from '../run/prepare.ts';
import type { Inbox } from './inbox.ts';
import type { InboxContext } from './transaction.ts';

/** @internal The session whose calls the links decide about. */
export interface LinkedSession extends InboxContext {
	readonly inbox: Inbox;
}

/** The decision links of a session (docs/people.md). */
export interface SessionLinks {
	/** Creates the links to decide about a call. Only the owner may call this. */
	make(caller: Caller, asked: LinkRequest): Promise<DecisionLinks>;
	/** Returns the call of a link. Throws `not_found` for a wrong link, and `conflict` for an expired or used link. */
	show(link: string): Promise<LinkedCall>;
	/** Makes the decision of a link, once. Throws the errors of `show`. */
	decide(link: string): Promise<LinkedCall>;
}

/**
 * The part of `runlet/cloudflare/links` that a session uses. A Worker without `createRunlet({ plugins: [links] })` does
 * not bundle it.
 */
export interface LinkConnector extends CallbackLinks {
	/** @internal Creates the links of a session. */
	open(session: LinkedSession): SessionLinks;
}

/** Returns the links of a session. Throws `not_found` in a Worker without links. The message says how to add them. */
export function takeLinks(links: SessionLinks | undefined): SessionLinks {
	if (links !== undefined) return links;
	throw createMissing('links');
}
