import type { Context } from 'hono';
import type * as v from 'valibot';
import { RunletError } from '../../core/ground/errors.ts';
import { webhookOwner } from '../auth/identity.ts';
import { readConfig } from '../config/config.ts';
import { askDirectory, createCursor, type DirectoryPage, everybody, type Listed } from '../objects/directory/api.ts';
import type { sessionPage, sessionQuery } from '../wire/session.ts';
import type { Shown } from '../wire/shown.ts';
import { assertScope, getOwner, type RouteEnv } from './identity.ts';

type Query = v.InferOutput<typeof sessionQuery>;
type Page = Shown<typeof sessionPage>;

/** The most owners in one list: a request can make about so many calls to objects. */
const mostOwners = 900;

/** How many directories are asked in parallel. */
const atOnce = 16;

/** Returns a page of the caller's sessions. With the scope admin also of another owner, or with `*` of all owners. */
export async function listSessions(c: Context<RouteEnv>, { owner, ...page }: Query): Promise<Page> {
	if (owner === undefined) return wirePage(await toPage(c, getOwner(c), page));
	const { identity } = c.var;
	if (identity.kind !== 'key' || identity.owner !== owner) assertScope(c, 'admin');
	const owners = owner === everybody ? await findOwners(c) : [owner];
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
	return wirePage({ sessions, ...(hasMore && last !== undefined && { cursor: createCursor(last) }) });
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

function toPage(c: Context<RouteEnv>, owner: string, page: Omit<Query, 'owner'>): Promise<DirectoryPage> {
	const { directories } = readConfig(c.env);
	return askDirectory(directories, owner, (one) => one.list(page));
}

/** Converts listed sessions to the form of the API. */
function wirePage({ sessions, cursor }: DirectoryPage): Page {
	const shown = sessions.map(({ createdAt, activeAt, ...rest }) => ({
		...rest,
		createdAt: new Date(createdAt).toISOString(),
		lastActivityAt: new Date(activeAt).toISOString(),
	}));
	return { sessions: shown, cursor };
}
