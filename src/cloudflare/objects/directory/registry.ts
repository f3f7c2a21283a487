import { reach, usualLimitMs } from '../reach.ts';

/**
 * What an owner may register: HTTP tools and MCP servers. Beside a server stand its login and the tools that were
 * accepted of it, under its name. A `key` stands under its id (`stored-keys.ts`).
 */
export type EntryKind = 'tool' | 'mcp' | 'mcp-login' | 'mcp-tools' | 'key';

/** What an owner has registered under a name. */
export interface Entry {
	readonly name: string;
	/** Another one after each change. */
	readonly version: string;
	/** JSON of a form that its kind decides. It holds no secret. */
	readonly definition: string;
	/** Its secrets, sealed by the box of `SECRETS_KEY`. */
	readonly sealed?: string;
	/** In milliseconds since 1970. */
	readonly createdAt: number;
	readonly updatedAt: number;
}

/** Returns the name of an entry that belongs to the owner, or to one of its users. No other name has a bracket. */
export function toEntryName({ name, user }: { readonly name: string; readonly user?: string }): string {
	return user === undefined ? name : JSON.stringify([user, name]);
}

/** Whether an entry of this name belongs to a user. */
export function isEntryOf(user: string, name: string): boolean {
	return name.startsWith(`${JSON.stringify([user]).slice(0, -1)},`);
}

/** A change of an entry. */
export interface EntryChange extends Pick<Entry, 'name' | 'definition' | 'sealed'> {
	readonly kind: EntryKind;
	/** The version that it replaces. If it is missing, there must be no entry of the name. */
	readonly replaces?: string;
	/** The most entries of this kind. */
	readonly most: number;
}

/** Whether a change was made: not if the entry was changed meanwhile, nor if there are too many. */
export type EntryOutcome = 'stored' | 'changed' | 'full';

/** The registry of one owner: what it registers beside its sessions, by kind and name. */
export interface RegistryApi {
	putEntry(change: EntryChange): Promise<EntryOutcome>;
	getEntry(kind: EntryKind, name: string): Promise<Entry | undefined>;
	/** Lists all entries of a kind, by name. */
	listEntries(kind: EntryKind): Promise<Entry[]>;
	/** Removes an entry. Resolves to whether there was one. */
	removeEntry(kind: EntryKind, name: string): Promise<boolean>;
}

/** The namespace of directories, as far as they are registries. */
export interface RegistryNamespace {
	idFromName(owner: string): DurableObjectId;
	get(id: DurableObjectId): RegistryApi;
}

/** Calls an owner's registry, which its directory keeps. Every call may be made twice. */
export function askRegistry<T>(
	directories: RegistryNamespace,
	owner: string,
	ask: (one: RegistryApi) => Promise<T>,
): Promise<T> {
	const call = () => ask(directories.get(directories.idFromName(owner)));
	return reach(call, { what: 'The registry of this owner', isSafe: true, timeoutMs: usualLimitMs });
}
