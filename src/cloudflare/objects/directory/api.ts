import { RunletError } from '../../../core/base/errors.ts';
import { sessionCursor } from '../../wire/page.ts';
import { reach, usualLimitMs } from '../reach.ts';
import type { Held } from '../room.ts';
import type { ScheduleApi } from '../schedule-api.ts';
import type { RegistryApi } from './registry.ts';
import type { Wait, WaitingPage, WaitingQuery } from './wait.ts';

/** A session as its owner's directory lists it. Times are milliseconds since 1970. */
export interface Listed {
	readonly id: string;
	readonly agent: string;
	/** The person whose session it is. */
	readonly user?: string;
	readonly title?: string;
	readonly createdAt: number;
	/** Its last activity, which the list is ordered by. */
	readonly activeAt: number;
}

/** The report of a session to its owner's directory. */
export interface SessionReport extends Listed {
	/** What it waits for; `null` for nothing. Missing if it did not change. */
	readonly wait?: Wait | null;
	/** The bytes that it holds. Missing likewise. */
	readonly bytes?: number;
}

/** Which sessions a list has. */
export interface DirectoryQuery {
	readonly cursor?: string;
	readonly limit: number;
	readonly agent?: string;
	/** Only those of this user; `null` for those of nobody. */
	readonly user?: string | null;
	/** Only those that wait for somebody, as far as the directory knows. */
	readonly isWaiting?: boolean;
}

export interface DirectoryPage {
	readonly sessions: Listed[];
	/** Where the next page begins; missing after the last. */
	readonly cursor?: string;
}

/**
 * The directory of one owner: the list of its sessions, by last activity, and its registry. A call whose `deadline` is
 * over, in milliseconds since 1970, does nothing and throws.
 */
export interface DirectoryApi extends RegistryApi, ScheduleApi {
	/**
	 * Lists a session and what it waits for, or replaces its entry unless that has a later activity. The first session of an
	 * owner puts the owner on the list of owners; if that fails, the next one tries again. Returns what all sessions hold.
	 */
	touch(entry: SessionReport, owner?: string, deadline?: number): Promise<Held | undefined>;
	/** The bytes that all listed sessions hold, and those of a user, as they were told last. */
	readHeld(user?: string, deadline?: number): Promise<Held>;
	/**
	 * Takes a session off the list. A `touch` that arrives within a day after it does not bring the session back; one
	 * that was created later under the same id is another session, and is listed.
	 */
	remove(id: string): Promise<void>;
	/**
	 * At most `limit` sessions, newest activity first, from a cursor on that `list` gave. From page to page no session
	 * comes twice. Only sessions that were active in the meantime are left out, because they moved to the front.
	 */
	list(page: DirectoryQuery, deadline?: number): Promise<DirectoryPage>;
	/** Lists what sessions wait for, the oldest first. What it says may be late: the session decides. */
	listWaiting(page: WaitingQuery): Promise<WaitingPage>;
	/**
	 * Remembers which session a request goes to, by the hash of the request. A later request with the same hash replaces
	 * it.
	 */
	noteSent(request: string, session: string): Promise<void>;
	/** Returns the session of the newest request with that hash, if it came within the hour. */
	findSent(request: string): Promise<string | undefined>;
	/** Puts an owner on the list of owners. Only of the directory named `everybody`. */
	addOwner(owner: string): Promise<void>;
	/** At most `limit` owners that ever had a session, by name. Only of the directory named `everybody`. */
	listOwners(limit: number): Promise<string[]>;
}

/** The name of the directory that lists the owners. No owner can have this name. */
export const everybody = '*';

/** The namespace of directories, named by their owners. */
export interface DirectoryNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): DirectoryApi;
}

/** Calls an owner's directory. Every call may be made twice. */
export function askDirectory<T>(
	directories: DirectoryNamespace,
	owner: string,
	ask: (one: DirectoryApi, deadline: number) => Promise<T>,
): Promise<T> {
	const call = (deadline: number) => ask(directories.get(directories.idFromName(owner)), deadline);
	return reach(call, { what: 'The list of sessions', isSafe: true, timeoutMs: usualLimitMs });
}

/** Makes the cursor that stands behind a session in the list. */
export function createCursor({ activeAt, id }: Pick<Listed, 'activeAt' | 'id'>): string {
	return `${activeAt}.${id}`;
}

/** Reads a cursor. Throws `invalid_request` if the text is none. */
export function parseCursor(text: string): Pick<Listed, 'activeAt' | 'id'> {
	const [, activeAt, id] = sessionCursor.exec(text) ?? [];
	if (activeAt === undefined || id === undefined) throw createNoSuchCursor();
	return { activeAt: Number(activeAt), id };
}

export function createNoSuchCursor(): RunletError {
	return new RunletError('invalid_request', 'cursor: Expected a cursor that this route gave.', { field: 'cursor' });
}
