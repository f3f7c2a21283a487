import { RunletError } from '../../core/base/errors.ts';

export type RoomScope = 'session' | 'owner' | 'user';

/** The most bytes of each scope. A missing limit allows everything. */
export type RoomLimits = Readonly<Partial<Record<RoomScope, number>>>;

/** The bytes of all sessions of an owner, and of one of its users. */
export interface Held {
	readonly owner: number;
	readonly user?: number;
}

interface Whose {
	readonly owner: string;
	readonly user?: string;
}

/** The variable of each limit, and the ways to free bytes. */
const remedies: Readonly<Record<RoomScope, readonly [variable: string, whose: string, remedy: string]>> = {
	session: ['SESSION_BYTES', 'this session', 'Delete files of it, or the session'],
	owner: ['OWNER_BYTES', 'this owner', 'Delete sessions, or files of them'],
	user: ['USER_BYTES', 'this user', 'Delete sessions of the user, or files of them'],
};

function createFull(scope: RoomScope, limit: number, used: number): RunletError {
	const [variable, whose, remedy] = remedies[scope];
	const text = `storage: ${whose} may hold ${limit} bytes (${variable}), and would hold ${used}. ${remedy}, or raise ${variable}.`;
	return new RunletError('too_large', text, { field: 'storage', scope, limit, used });
}

export function assertRoom(scope: RoomScope, limits: RoomLimits, used: number): void {
	const limit = limits[scope];
	if (limit !== undefined && used > limit) throw createFull(scope, limit, used);
}

export function assertHeld(limits: RoomLimits, { owner, user = 0 }: Held): void {
	assertRoom('owner', limits, owner);
	assertRoom('user', limits, user);
}

const mostKnown = 1_000;

/**
 * Owners and users that held too much recently, as far as this isolate knows. Only for them the directory is asked
 * before more is stored.
 */
export class FullRooms {
	readonly #full = new Set<string>();
	readonly #limits: RoomLimits;

	constructor(limits: RoomLimits) {
		this.#limits = limits;
	}

	mayBeFull({ owner, user }: Whose): boolean {
		return this.#full.has(toKey(owner)) || (user !== undefined && this.#full.has(toKey(owner, user)));
	}

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
