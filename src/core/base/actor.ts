/** The sources of an actor. */
export const ways = ['key', 'account', 'token', 'link', 'webhook', 'schedule', 'mcp', 'child'] as const;

/**
 * Who sent a message or decided about a call (docs/keys.md, "Actors"). A Worker creates an actor from a credential and
 * stores it with the message or the decision. The text of a model, a file, a request or an import never becomes an
 * actor.
 */
export interface Actor {
	/** The tenant that owns the sessions and budgets. */
	readonly owner: string;
	/** The person in the tenant, such as a customer or a colleague. Missing if no person is named. */
	readonly user?: string;
	/** The source of the actor. */
	readonly via: (typeof ways)[number];
	/**
	 * The id in the source: the id of a key or a token, the user of an account, `AGENT/SOURCE` for a webhook, the name of
	 * a schedule, or the id of a child's session.
	 */
	readonly id: string;
	/** The maker of the token or the link. */
	readonly madeBy?: Actor;
}

/**
 * Returns whether two actors are the same person, whatever their sources are. A token or a link also counts as its
 * maker. Keys and accounts that have the same owner and no user count as one person.
 */
export function isSamePerson(one: Actor, other: Actor): boolean {
	const names = new Set(listNames(one));
	return listNames(other).some((name) => names.has(name));
}

function listNames({ madeBy, ...actor }: Actor): readonly string[] {
	return [...(madeBy === undefined ? [] : listNames(madeBy)), ...findOwnName(actor, madeBy !== undefined)];
}

function findOwnName({ owner, user, via, id }: Actor, isMade: boolean): readonly string[] {
	if (user !== undefined) return [JSON.stringify([owner, user])];
	// Without a user, only the maker identifies a token or a link.
	if (isMade) return [];
	const isOwner = via === 'key' || via === 'account' || via === 'mcp';
	return [JSON.stringify(isOwner ? [owner] : [owner, via, id])];
}
