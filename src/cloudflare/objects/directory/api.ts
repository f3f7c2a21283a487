import { createFieldError, type RunletError } from '../../../core/base/errors.ts';
import { sessionCursor } from '../../wire/page.ts';
import type { Held } from '../budget.ts';
import { reach, usualLimitMs } from '../reach.ts';
import type { ScheduleApi } from '../schedule-api.ts';
import type { UploadApi } from '../upload-api.ts';
import type { FeedbackChange, FeedbackPage, FeedbackQuery } from './feedback.ts';
import type { RegistryApi } from './registry.ts';
import type { Wait, WaitingPage, WaitingQuery } from './wait.ts';

/** Times are milliseconds since 1970. */
export interface Listed {
	readonly id: string;
	/** Only in the directory named `everybody`. */
	readonly owner?: string;
	readonly agent: string;
	readonly user?: string;
	readonly title?: string;
	readonly createdAt: number;
	readonly activeAt: number;
	/** The place in a search. A higher place comes first. */
	readonly place?: number;
	/** What is around a searched word in the session's contents. */
	readonly excerpt?: string;
}

export interface SessionReport extends Listed {
	/** `null` if the session does not wait. Missing if the wait did not change. */
	readonly wait?: Wait | null;
	/** Whether only `withHidden` lists the session. */
	readonly isHidden?: boolean;
	/** Missing if the bytes did not change. */
	readonly bytes?: number;
	/** What was said in the session, as far as searches find it. Missing if its agent has no `searchContents`. */
	readonly text?: string;
}

export interface DirectoryQuery {
	readonly cursor?: string;
	readonly limit: number;
	readonly agent?: string;
	/** `null` for sessions without a user. */
	readonly user?: string | null;
	/** Whether to list only sessions that wait for somebody, as far as the directory knows. */
	readonly isWaiting?: boolean;
	/** Whether to list reruns, too. */
	readonly withHidden?: boolean;
	/** Lists only sessions whose titles have all these words, the newest session first. `isWaiting` has no effect then. */
	readonly words?: string;
	/** The agents whose sessions are also found if their titles and contents have all the words together. */
	readonly contentsOf?: readonly string[];
}

export interface DirectoryPage<L extends Listed = Listed> {
	readonly sessions: L[];
	/** Missing on the last page. */
	readonly cursor?: string;
}

/**
 * The directory of an owner: its sessions, by last activity, and its registry. An owner with shards has further
 * directories for sessions and their schedules (`all.ts`). The directory named `everybody` has the names of all owners,
 * and with `LIST_ALL_OWNERS` their sessions, waiting calls and feedback. The directory that `nameUploads` names has the
 * uploaded files of an owner, and nothing else. A call after its `deadline` (milliseconds since
 * 1970) throws.
 */
export interface DirectoryApi extends RegistryApi, ScheduleApi, UploadApi {
	/**
	 * Adds or updates a session in the list, unless the list has a later activity of the session. An owner's first
	 * session (if that fails, the next) also adds the owner to the list of owners. Returns the bytes of all sessions of this
	 * directory, but nothing for an entry with an owner.
	 */
	touch(entry: SessionReport, owner?: string, deadline?: number): Promise<Held | undefined>;
	/** The bytes of this directory's sessions, and the bytes of a user's sessions among them. */
	readHeld(user?: string, deadline?: number): Promise<Held>;
	/** For a day, a `touch` does not list the removed session again. It does list a newer session with the same id. */
	remove(id: string): Promise<void>;
	/** Lists each session once, the newest activity first, unless it searches for words. Can miss a session that is active between two pages. */
	list(page: DirectoryQuery, deadline?: number): Promise<DirectoryPage>;
	/** Lists waiting calls, the oldest first. An entry can be outdated; the session's own state counts. */
	listWaiting(page: WaitingQuery): Promise<WaitingPage>;
	/** Adds, replaces or removes the feedback about a run. A newer feedback stays. */
	putFeedback(change: FeedbackChange): Promise<void>;
	/** Lists feedback, the newest first. */
	listFeedback(page: FeedbackQuery): Promise<FeedbackPage>;
	/** Remembers the session of a request, by the request's hash. */
	noteSent(request: string, session: string): Promise<void>;
	/** Returns the session of the newest request with this hash in the last hour. */
	findSent(request: string): Promise<string | undefined>;
	/** Only for the directory named `everybody`. */
	addOwner(owner: string): Promise<void>;
	/** Lists owners by name, those after a name. Only for the directory named `everybody`. */
	listOwners(limit: number, after?: string): Promise<string[]>;
}

/** The name of the directory of all owners. No owner can have this name. */
export const everybody = '*';

export interface DirectoryNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): DirectoryApi;
}

/** Calls a directory. Repeats failed calls, because each method is idempotent. */
export function askDirectory<T>(
	directories: DirectoryNamespace,
	owner: string,
	ask: (one: DirectoryApi, deadline: number) => Promise<T>,
	timeoutMs = usualLimitMs,
): Promise<T> {
	const call = (deadline: number) => ask(directories.get(directories.idFromName(owner)), deadline);
	return reach(call, { what: 'The list of sessions', isSafe: true, timeoutMs });
}

export function createCursor({ activeAt, place = activeAt, id }: Pick<Listed, 'activeAt' | 'place' | 'id'>): string {
	return `${place}.${id}`;
}

export function parseCursor(text: string): Pick<Listed, 'activeAt' | 'id'> {
	const [, activeAt, id] = sessionCursor.exec(text) ?? [];
	if (activeAt === undefined || id === undefined) throw createNoSuchCursor();
	return { activeAt: Number(activeAt), id };
}

export function createNoSuchCursor(): RunletError {
	return createFieldError('invalid_request', 'cursor', 'Expected a cursor that this route gave.');
}
