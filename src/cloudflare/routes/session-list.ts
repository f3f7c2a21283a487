import type { Context } from 'hono';
import type * as v from 'valibot';
import { createFieldError } from '../../core/base/errors.ts';
import type { Runtime } from '../agent/runtime.ts';
import { localIdentity, webhookOwner } from '../auth/identity.ts';
import { readConfig } from '../config/config.ts';
import { listSessions as listAll } from '../objects/directory/all.ts';
import {
	askDirectory,
	createCursor,
	type DirectoryPage,
	type DirectoryQuery,
	everybody,
	type Listed,
} from '../objects/directory/api.ts';
import type { SessionBrief } from '../objects/session-api.ts';
import { listShards } from '../objects/shards.ts';
import { listSessions as endpoint } from '../wire/endpoints/sessions.ts';
import type { Shown } from '../wire/operation.ts';
import type { sessionPage, sessionQuery } from '../wire/session.ts';
import { getCallerOrAdmin, getListedOwner, getListedUser, getOwner, isOnlyLocal, type RouteEnv } from './identity.ts';
import { mount } from './request.ts';
import { askOneSession, orGone } from './respond.ts';

type Query = v.InferOutput<typeof sessionQuery>;
type Page = Shown<typeof sessionPage>;
type Entry = Listed & { readonly owner?: string } & Partial<SessionBrief>;
type ListQuery = DirectoryQuery & Pick<Query, 'owner'>;

/** How many directories a list of all owners asks at most, unless `LIST_ALL_OWNERS` is on. */
const mostDirectories = 100;

/** The number of sessions that are asked in parallel. */
const atOnce = 16;

/** The maximum number of sessions that one request asks. */
const mostAsked = 96;

/** `GET /v1/sessions`: lists sessions, and searches for them. */
export function createSessionListRoute({ agents }: Pick<Runtime, 'agents'>) {
	const contentsOf = agents.flatMap(({ name, searchContents }) => (searchContents === true ? name : []));
	return mount(endpoint, async (c) => c.json(await listSessions(c, { ...c.req.valid('query'), contentsOf })));
}

/**
 * Returns a page of the owner's sessions. Staff get all of them, and a customer gets their own. A caller with the scope
 * admin can list the sessions of another owner, or of all owners (`*`).
 */
async function listSessions(
	c: Context<RouteEnv>,
	{ status, details, user, q: words, ...rest }: Query & Pick<DirectoryQuery, 'contentsOf'>,
): Promise<Page> {
	const query = { ...rest, words, ...getListedUser(c, user) };
	const hasDetails = details === 'true' || details === 'runs';
	if (status === undefined && !hasDetails) return wirePage(await listPage(c, query));
	const isWaiting = status === 'awaiting_user' || status === 'awaiting_tools';
	const page = await listPage(c, status === undefined ? query : { ...query, limit: mostAsked, isWaiting });
	const found: Entry[] = [];
	for (let from = 0; from < page.sessions.length; from += atOnce) {
		const batch = page.sessions.slice(from, from + atOnce);
		// A session that cannot be read is listed without its details.
		const briefs = await Promise.all(
			batch.map(({ id }) =>
				askBrief(c, id, details === 'runs').catch((error: unknown) => (status === undefined ? undefined : fail(error))),
			),
		);
		for (const [index, session] of batch.entries()) {
			const brief = briefs[index];
			if (status !== undefined && brief?.status !== status) continue;
			found.push({ ...session, status: brief?.status, ...(hasDetails && { spent: brief?.spent, runs: brief?.runs }) });
			const isLast = from + index + 1 === page.sessions.length && page.cursor === undefined;
			if (found.length === query.limit && !isLast) return wirePage({ sessions: found, cursor: createCursor(session) });
		}
	}
	return wirePage({ sessions: found, cursor: page.cursor });
}

function fail(error: unknown): never {
	throw error;
}

function askBrief(c: Context<RouteEnv>, id: string, withRuns: boolean): Promise<SessionBrief | undefined> {
	const { sessions } = readConfig(c.env);
	return orGone(
		askOneSession(c, sessions.idFromString(id), (session) => session.brief(getCallerOrAdmin(c, id), withRuns)),
	);
}

async function listPage(c: Context<RouteEnv>, { owner, ...page }: ListQuery): Promise<DirectoryPage<Entry>> {
	const config = readConfig(c.env);
	if (owner !== undefined) return listAll(config, await findListedOwners(c, owner), page);
	const { sessions, cursor } = await listAll(config, [getOwner(c)], page);
	return { sessions: sessions.map(({ owner: _, ...session }) => session), cursor };
}

/**
 * Returns the owners whose lists have the entries of the requested owner: itself, or for `*` the list of all owners, or
 * else all owners. Throws `forbidden` if the caller is not allowed to list them.
 */
export async function findListedOwners(c: Context<RouteEnv>, requested: string): Promise<readonly string[]> {
	const owner = getListedOwner(c, requested);
	return owner === everybody ? (readConfig(c.env).listsOfAll ?? findOwners(c)) : [owner];
}

/** Returns all owners: those with a key, and those that had a session. */
async function findOwners(c: Context<RouteEnv>): Promise<string[]> {
	const { findShardCount } = readConfig(c.env);
	const owners = await listOwners(c, mostDirectories + 1);
	const directories = owners.flatMap((owner) => listShards(owner, findShardCount(owner)));
	if (directories.length <= mostDirectories) return owners;
	const message = `there are more than ${mostDirectories} owners, or shards of them. Name one owner, or set LIST_ALL_OWNERS to on.`;
	throw createFieldError('invalid_request', 'owner', message);
}

/** Lists owners by name, those after a name. */
export async function listOwners(c: Context<RouteEnv>, limit: number, after = ''): Promise<string[]> {
	const { directories, keys } = readConfig(c.env);
	const listed = await askDirectory(directories, everybody, (one) => one.listOwners(limit, after));
	const local = isOnlyLocal(c) ? [localIdentity.by.owner] : [];
	const owners = new Set([...listed, webhookOwner, ...keys.map((key) => key.owner), ...local]);
	return [...owners]
		.filter((owner) => owner > after)
		.sort()
		.slice(0, limit);
}

function wirePage({ sessions, cursor }: { readonly sessions: readonly Entry[]; readonly cursor?: string }): Page {
	const shown = sessions.map(({ createdAt, activeAt, place: _, ...rest }) => ({
		...rest,
		createdAt: new Date(createdAt).toISOString(),
		lastActivityAt: new Date(activeAt).toISOString(),
	}));
	return { sessions: shown, cursor };
}
