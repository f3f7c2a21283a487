import type { Held } from '../budget.ts';
import { type FindShardCount, listShards } from '../shards.ts';
import {
	askDirectory,
	createCursor,
	type DirectoryApi,
	type DirectoryNamespace,
	type DirectoryPage,
	type DirectoryQuery,
	type Listed,
} from './api.ts';

/** All directories of a Worker: each owner has one, or several shards. */
export interface Directories {
	readonly directories: DirectoryNamespace;
	readonly findShardCount: FindShardCount;
}

/** The number of objects that are asked in parallel. */
const atOnce = 16;

/** Asks for each of the keys, a few at a time. The answers have the order of the keys. */
export async function askAll<K, T>(keys: readonly K[], ask: (key: K) => Promise<readonly T[]>): Promise<T[]> {
	const found: T[] = [];
	for (let from = 0; from < keys.length; from += atOnce)
		found.push(...(await Promise.all(keys.slice(from, from + atOnce).map(ask))).flat());
	return found;
}

interface Merge<E> {
	/** The user of all entries. */
	readonly user?: string | null;
	readonly limit?: number;
	ask(one: DirectoryApi, deadline: number): Promise<{ readonly entries: readonly E[]; readonly cursor?: string }>;
	compare(a: E, b: E): number;
}

/** Merges the entries of owners into one page. `next` is the page's last entry, if more entries follow. */
export async function mergeEntries<E extends object>(
	{ directories, findShardCount }: Directories,
	owners: readonly string[],
	{ user, limit, ask, compare }: Merge<E>,
) {
	let isCut = false;
	const places = owners.flatMap((owner) =>
		listShards(owner, findShardCount(owner), user ?? undefined).map((name) => ({ owner, name })),
	);
	const found = await askAll(places, async ({ owner, name }) => {
		const { entries, cursor } = await askDirectory(directories, name, ask);
		isCut ||= cursor !== undefined;
		// The entries of `everybody` have their owners.
		return entries.map((entry) => ({ owner, ...entry }));
	});
	const entries = found.sort(compare).slice(0, limit);
	return { entries, next: isCut || found.length > entries.length ? entries.at(-1) : undefined };
}

/** Lists sessions of owners, in the order of each directory. */
export async function listSessions(
	all: Directories,
	owners: readonly string[],
	page: DirectoryQuery,
): Promise<DirectoryPage<Listed & { readonly owner: string }>> {
	const { entries, next } = await mergeEntries(all, owners, {
		...page,
		ask: async (one, deadline) => {
			const { sessions, cursor } = await one.list(page, deadline);
			return { entries: sessions, cursor };
		},
		compare: (a, b) => (b.place ?? b.activeAt) - (a.place ?? a.activeAt) || (a.id < b.id ? 1 : -1),
	});
	return { sessions: entries, ...(next && { cursor: createCursor(next) }) };
}

/** Reads the bytes of all sessions of an owner, and of a user's sessions. */
export async function readHeld(
	{ directories, findShardCount }: Directories,
	owner: string,
	user?: string,
): Promise<Held> {
	const found = await askAll(listShards(owner, findShardCount(owner)), async (name) => [
		await askDirectory(directories, name, (one, deadline) => one.readHeld(user, deadline)),
	]);
	const sum = (scope: keyof Held) => found.reduce((bytes, held) => bytes + (held[scope] ?? 0), 0);
	return { owner: sum('owner'), ...(user !== undefined && { user: sum('user') }) };
}
