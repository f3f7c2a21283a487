import { RunletError } from '../../core/base/errors.ts';

/** Whose bytes are counted. */
export type RoomScope = 'session' | 'owner' | 'user';

/** The most bytes that a session, an owner and a user may hold. A missing limit allows everything. */
export type RoomLimits = Readonly<Partial<Record<RoomScope, number>>>;

/** The bytes that the sessions of an owner hold, and those of one of its users. */
export interface Held {
	readonly owner: number;
	/** Missing where no user is meant. */
	readonly user?: number;
}

interface Whose {
	readonly owner: string;
	readonly user?: string;
}

/** The variable of each limit, and what frees bytes. */
const remedies: Readonly<Record<RoomScope, readonly [variable: string, whose: string, remedy: string]>> = {
	session: ['SESSION_BYTES', 'this session', 'Delete files of it, or the session'],
	owner: ['OWNER_BYTES', 'this owner', 'Delete sessions, or files of them'],
	user: ['USER_BYTES', 'this user', 'Delete sessions of the user, or files of them'],
};

/** Creates the error of what would hold more than its limit. */
function createFull(scope: RoomScope, limit: number, used: number): RunletError {
	const [variable, whose, remedy] = remedies[scope];
	const text = `storage: ${whose} may hold ${limit} bytes (${variable}), and would hold ${used}. ${remedy}, or raise ${variable}.`;
	return new RunletError('too_large', text, { field: 'storage', scope, limit, used });
}

/** Throws `too_large` where bytes are more than a limit allows. */
export function assertRoom(scope: RoomScope, limits: RoomLimits, used: number): void {
	const limit = limits[scope];
	if (limit !== undefined && used > limit) throw createFull(scope, limit, used);
}

/** Throws `too_large` where the sessions of an owner or a user hold more than they may. */
export function assertHeld(limits: RoomLimits, { owner, user = 0 }: Held): void {
	assertRoom('owner', limits, owner);
	assertRoom('user', limits, user);
}

/** The most owners and users that are remembered. The oldest are forgotten. */
const mostKnown = 1_000;

/**
 * The owners and users that held too much lately, as far as this isolate knows. None is believed: each is a reason to ask
 * the directory before more is stored. So an owner who has room pays no call for it.
 */
export class FullRooms {
	readonly #full = new Set<string>();
	readonly #limits: RoomLimits;

	constructor(limits: RoomLimits) {
		this.#limits = limits;
	}

	/** Whether an owner or a user may hold too much. */
	mayBeFull({ owner, user }: Whose): boolean {
		return this.#full.has(toKey(owner)) || (user !== undefined && this.#full.has(toKey(owner, user)));
	}

	/** Notes what an owner and a user hold. */
	note({ owner, user }: Whose, held: Held): void {
		this.#set(toKey(owner), held.owner, this.#limits.owner);
		if (user !== undefined) this.#set(toKey(owner, user), held.user ?? 0, this.#limits.user);
	}

	#set(key: string, bytes: number, limit = Infinity): void {
		this.#full.delete(key);
		if (bytes <= limit) return;
		this.#full.add(key);
		const [oldest] = this.#full;
		if (this.#full.size > mostKnown && oldest !== undefined) this.#full.delete(oldest);
	}
}

function toKey(...whose: readonly string[]): string {
	return JSON.stringify(whose);
}
