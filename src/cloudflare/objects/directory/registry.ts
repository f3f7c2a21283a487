import { RunletError } from '../../../core/base/errors.ts';
import { reach, usualLimitMs } from '../reach.ts';

/**
 * HTTP tools and MCP servers of an owner. The login of a server and the server's accepted tools are entries with
 * the server's name. An entry of the kind `key` has the key's id as its name (`stored-keys.ts`).
 */
export type EntryKind = 'tool' | 'mcp' | 'mcp-login' | 'mcp-tools' | 'key';

export interface Entry {
	readonly name: string;
	/** A new version after each change. */
	readonly version: string;
	/** JSON in the form that the kind requires, without secrets. */
	readonly definition: string;
	/** The secrets, sealed by `SECRETS_KEY`. */
	readonly sealed?: string;
	/** Milliseconds since 1970. */
	readonly createdAt: number;
	readonly updatedAt: number;
}

/** Makes the name of an entry. Only the names of users' entries begin with a bracket. */
export function toEntryName({ name, user }: { readonly name: string; readonly user?: string }): string {
	return user === undefined ? name : JSON.stringify([user, name]);
}

export function isEntryOf(user: string, name: string): boolean {
	return name.startsWith(`${JSON.stringify([user]).slice(0, -1)},`);
}

export interface EntryChange extends Pick<Entry, 'name' | 'definition' | 'sealed'> {
	readonly kind: EntryKind;
	/** The version to replace. Missing for a new name. */
	readonly replaces?: string;
	readonly most: number;
}

/** `changed`: another change came first. `full`: there are too many entries. */
export type EntryOutcome = 'stored' | 'changed' | 'full';

export interface RegistryApi {
	putEntry(change: EntryChange): Promise<EntryOutcome>;
	getEntry(kind: EntryKind, name: string): Promise<Entry | undefined>;
	listEntries(kind: EntryKind): Promise<Entry[]>;
	removeEntry(kind: EntryKind, name: string): Promise<boolean>;
}

export interface RegistryNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): RegistryApi;
}

/** Calls a registry. Repeats failed calls, because each method is idempotent. */
export function askRegistry<T>(
	directories: RegistryNamespace,
	owner: string,
	ask: (one: RegistryApi) => Promise<T>,
): Promise<T> {
	const call = () => ask(directories.get(directories.idFromName(owner)));
	return reach(call, { what: 'The registry of this owner', isSafe: true, timeoutMs: usualLimitMs });
}

const plurals: Readonly<Record<EntryKind, string>> = {
	tool: 'tools',
	mcp: 'servers',
	'mcp-login': 'logins',
	'mcp-tools': 'servers with accepted tools',
	key: 'keys',
};

/** How often a change is tried at most while others change the same entry. */
const mostTries = 20;

/**
 * Replaces an entry with the result of `next`. If another change comes first, `next` is called again. If the
 * result is undefined, nothing changes. Throws `conflict` if there are too many entries.
 */
export async function changeEntry(
	directories: RegistryNamespace,
	owner: string,
	{ kind, name, most }: Pick<EntryChange, 'kind' | 'name' | 'most'>,
	next: (before: Entry | undefined) => Promise<Pick<EntryChange, 'definition' | 'sealed'> | undefined>,
): Promise<void> {
	for (let tries = 1; tries <= mostTries; tries++) {
		const before = await askRegistry(directories, owner, (registry) => registry.getEntry(kind, name));
		const change = await next(before);
		if (change === undefined) return;
		const outcome = await askRegistry(directories, owner, (registry) =>
			registry.putEntry({ kind, name, ...change, replaces: before?.version, most }),
		);
		if (outcome === 'stored') return;
		if (outcome === 'full')
			throw new RunletError('conflict', `There are ${most} ${plurals[kind]}, which is the most. Delete one first.`);
	}
	throw new RunletError('overloaded', `${name} is changed too often. Try again.`);
}
