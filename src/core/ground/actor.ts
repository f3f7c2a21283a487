/** The ways in which an actor comes. */
export const ways = ['key', 'account', 'token', 'link', 'webhook', 'schedule', 'mcp', 'child'] as const;

/**
 * Who did a thing: sent a message, or decided about a call (docs/keys.md, "Actors"). A Worker makes an actor once, from a
 * credential, and stores it with the message or the decision. No text of a model, a file, a body or an import becomes one.
 */
export interface Actor {
	/** The tenant whose sessions and budgets they are. */
	readonly owner: string;
	/** The person in the tenant: a customer, a colleague. Missing where nobody is named. */
	readonly user?: string;
	/** How the actor came. */
	readonly via: (typeof ways)[number];
	/**
	 * What exactly: the id of the key or the token, the account's user, the agent and the source of a webhook, the name of a
	 * schedule, the id of a child's session.
	 */
	readonly id: string;
	/** Who made the token or the link that the actor came with. */
	readonly madeBy?: Actor;
}

/**
 * Returns whether two actors are the same person, by whatever way they came. A token or a link also counts as whoever made
 * it. Keys and accounts of one owner that name no user count as one person: nobody can tell them apart.
 */
export function isSamePerson(one: Actor, other: Actor): boolean {
	const names = new Set(listNames(one));
	return listNames(other).some((name) => names.has(name));
}

/** Lists the names under which an actor counts as a person. */
function listNames({ madeBy, ...actor }: Actor): readonly string[] {
	return [...(madeBy === undefined ? [] : listNames(madeBy)), ...findOwnName(actor, madeBy !== undefined)];
}

function findOwnName({ owner, user, via, id }: Actor, isMade: boolean): readonly string[] {
	if (user !== undefined) return [JSON.stringify([owner, user])];
	// A token or a link without a name is nobody but its maker.
	if (isMade) return [];
	const isOwner = via === 'key' || via === 'account' || via === 'mcp';
	return [JSON.stringify(isOwner ? [owner] : [owner, via, id])];
}
