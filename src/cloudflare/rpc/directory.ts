import { RunletError } from '../../core/ground/errors.ts';
import { sessionCursor } from '../wire/page.ts';
import { reach, usualLimitMs } from './reach.ts';
/** A session as its owner's directory lists it. Times are milliseconds since 1970. */
export interface Listed {
	readonly id: string;
	readonly agent: string;
	readonly title?: string;
	readonly createdAt: number;
	/** Its last activity, which the list is ordered by. */
	readonly activeAt: number;
}

export interface DirectoryPage {
	readonly sessions: Listed[];
	/** Where the next page begins; missing after the last. */
	readonly cursor?: string;
}

/** What may be asked of the directory of one owner: the list of that owner's sessions, by last activity. */
export interface DirectoryApi {
	/**
	 * Lists a session, or replaces what is listed of it whole, unless that is of a later activity. The first one of an
	 * owner puts the owner on the list of owners; what fails there is tried again by the next.
	 */
	touch(entry: Listed, owner?: string): Promise<void>;
	/**
	 * Takes a session off the list. A `touch` that arrives within a day after it does not bring the session back; one
	 * that was created later under the same id is another session, and is listed.
	 */
	remove(id: string): Promise<void>;
	/**
	 * At most `limit` sessions, newest activity first, from a cursor on that `list` gave. From page to page no session
	 * comes twice, and none is left out but those that were active in the meantime: they stand in front.
	 */
	list(page: { readonly cursor?: string; readonly limit: number }): Promise<DirectoryPage>;
	/** Notes which session a request goes to, by a hash of it; a later one of the same hash takes its place. */
	noteSent(request: string, session: string): Promise<void>;
	/** The session that the newest request of that hash went to, if that was within the hour. */
	findSent(request: string): Promise<string | undefined>;
	/** Puts an owner on the list of owners. Only of the directory named `everybody`. */
	addOwner(owner: string): Promise<void>;
	/** At most `limit` owners that ever had a session, by name. Only of the directory named `everybody`. */
	listOwners(limit: number): Promise<string[]>;
}

/** The name of the directory that lists the owners: no owner can have it. */
export const everybody = '*';

/** The namespace of directories, named by their owners. */
export interface DirectoryNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): DirectoryApi;
}

/** Asks an owner's directory. Each of its calls may be made twice. */
export function askDirectory<T>(
	directories: DirectoryNamespace,
	owner: string,
	ask: (one: DirectoryApi) => Promise<T>,
): Promise<T> {
	const call = () => ask(directories.get(directories.idFromName(owner)));
	return reach(call, { what: 'The list of sessions', isSafe: true, timeoutMs: usualLimitMs });
}

/** The place behind a session in the list, as text. */
export function createCursor({ activeAt, id }: Pick<Listed, 'activeAt' | 'id'>): string {
	return `${activeAt}.${id}`;
}

/** What a cursor says; throws `invalid_request` for a text that is none. */
export function parseCursor(text: string): Pick<Listed, 'activeAt' | 'id'> {
	const [, activeAt, id] = sessionCursor.exec(text) ?? [];
	if (activeAt === undefined || id === undefined)
		throw new RunletError('invalid_request', 'cursor: Expected a cursor that this route gave.', { field: 'cursor' });
	return { activeAt: Number(activeAt), id };
}
