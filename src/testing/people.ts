import type { Right } from '../cloudflare/auth/rights.ts';
import { assertRight, type Role } from '../cloudflare/auth/rights.ts';
import type { Actor } from '../core/index.ts';

/** Somebody who writes to a session or decides in it. */
export interface Person extends Partial<Pick<Actor, 'user' | 'via' | 'id'>> {
	/** What they may do (docs/keys.md, "Roles"). Without it nothing is refused but by `approvers`. */
	readonly role?: Role;
}

/** Returns a person as an actor of an owner. Throws `forbidden` if their role lacks the right. */
export function toActor({ user, via = 'account', id, role }: Person, owner: string, right: Right): Actor {
	if (role !== undefined) assertRight(role, right);
	return { owner, ...(user !== undefined && { user }), via, id: id ?? user ?? owner };
}
