import type { Context } from 'hono';
import type * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';
import { webhookOwner } from '../auth/identity.ts';
import { readConfig } from '../config/config.ts';
import {
	askDirectory,
	createCursor,
	type DirectoryPage,
	type DirectoryQuery,
	everybody,
	type Listed,
} from '../objects/directory/api.ts';
import type { Shown } from '../wire/operation.ts';
import type { sessionPage, sessionQuery } from '../wire/session.ts';
import { askSession } from './ask-session.ts';
import { getCallerOrAdmin, getListedOwner, getListedUser, getOwner, type RouteEnv } from './identity.ts';

type Query = v.InferOutput<typeof sessionQuery>;
type Page = Shown<typeof sessionPage>;
type Status = NonNullable<Query['status']>;
type Entry = Listed & { readonly owner?: string; readonly status?: Status };
type ListQuery = DirectoryQuery & Pick<Query, 'owner'>;

/** The most owners in one list: a request can make a limited number of calls to objects. */
const mostOwners = 900;

/** How many directories are asked in parallel. */
const atOnce = 16;

/** The most sessions that one request asks for their status. */
const mostAsked = 96;

/**
 * Returns a page of the owner's sessions: all of them for staff, the caller's own for a customer. With the scope admin also
 * of another owner, or with `*` of all owners.
 */
export async function listSessions(c: Context<RouteEnv>, { status, user, ...rest }: Query): Promise<Page> {
	const query = { ...rest, ...getListedUser(c, user) };
	if (status === undefined) return wirePage(await listPage(c, query));
	const isWaiting = status === 'awaiting_user' || status === 'awaiting_tools';
	const page = await listPage(c, { ...query, limit: mostAsked, isWaiting });
	const found: Entry[] = [];
	for (let from = 0; from < page.sessions.length; from += atOnce) {
		const asked = page.sessions.slice(from, from + atOnce);
		const statuses = await Promise.all(asked.map(({ id }) => askStatus(c, id)));
		for (const [index, session] of asked.entries()) {
			if (statuses[index] !== status) continue;
			found.push({ ...session, status });
			const isLast = from + index + 1 === page.sessions.length && page.cursor === undefined;
			if (found.length === query.limit && !isLast) return wirePage({ sessions: found, cursor: createCursor(session) });
		}
	}
	return wirePage({ sessions: found, cursor: page.cursor });
}

/** Returns the status of a session, or undefined if the session was removed. */
async function askStatus(c: Context<RouteEnv>, id: string): Promise<Status | undefined> {
	try {
		return await askSession(c, readConfig(c.env).sessions.idFromString(id), (one) =>
			one.status(getCallerOrAdmin(c, id)),
		);
	} catch (error) {
		if (error instanceof RunletError && error.code === 'not_found') return undefined;
		throw error;
	}
}

async function listPage(c: Context<RouteEnv>, { owner, ...page }: ListQuery): Promise<DirectoryPage> {
	if (owner === undefined) return toPage(c, getOwner(c), page);
	const owners = await findListedOwners(c, owner);
	const found: (Listed & { readonly owner: string })[] = [];
	let isCut = false;
	for (let from = 0; from < owners.length; from += atOnce) {
		const asked = owners.slice(from, from + atOnce).map(async (name) => {
			const { sessions, cursor } = await toPage(c, name, page);
			isCut ||= cursor !== undefined;
			found.push(...sessions.map((session) => ({ ...session, owner: name })));
		});
		await Promise.all(asked);
	}
	found.sort((a, b) => b.activeAt - a.activeAt || (a.id < b.id ? 1 : -1));
	const sessions = found.slice(0, page.limit);
	const last = sessions.at(-1);
	const hasMore = isCut || found.length > sessions.length;
	return { sessions, ...(hasMore && last !== undefined && { cursor: createCursor(last) }) };
}

/** Returns the owners that a list is about: the one that the request names, or all. Throws `forbidden` for a stranger. */
export async function findListedOwners(c: Context<RouteEnv>, asked: string): Promise<readonly string[]> {
	const owner = getListedOwner(c, asked);
	return owner === everybody ? findOwners(c) : [owner];
}

/** Returns the owners that have a key and those that ever had a session. */
export async function findOwners(c: Context<RouteEnv>): Promise<string[]> {
	const { directories, keys } = readConfig(c.env);
	const listed = await askDirectory(directories, everybody, (one) => one.listOwners(mostOwners + 1));
	const owners = [...new Set([...listed, webhookOwner, ...keys.map((key) => key.owner)])];
	if (owners.length <= mostOwners) return owners;
	throw new RunletError('invalid_request', `owner: there are more than ${mostOwners} owners. Name one of them.`, {
		field: 'owner',
	});
}

function toPage(c: Context<RouteEnv>, owner: string, page: DirectoryQuery): Promise<DirectoryPage> {
	const { directories } = readConfig(c.env);
	return askDirectory(directories, owner, (one) => one.list(page));
}

/** Converts listed sessions to the form of the API. */
function wirePage({ sessions, cursor }: { readonly sessions: readonly Entry[]; readonly cursor?: string }): Page {
	const shown = sessions.map(({ createdAt, activeAt, ...rest }) => ({
		...rest,
		createdAt: new Date(createdAt).toISOString(),
		lastActivityAt: new Date(activeAt).toISOString(),
	}));
	return { sessions: shown, cursor };
}
