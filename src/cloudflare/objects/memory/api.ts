import type { shownMemory } from '../../wire/memory.ts';
import type { Shown } from '../../wire/operation.ts';
import { reach, usualLimitMs } from '../reach.ts';
import { type RpcResult, takeValue } from '../result.ts';

/** Who wrote a memory: a call of a session, or somebody over HTTP. */
export interface MemorySource {
	readonly via: 'call' | 'http';
	readonly agent?: string;
	readonly sessionId?: string;
	readonly runId?: string;
	readonly callId?: string;
}

/** A memory: a small document. Times are milliseconds since 1970. */
export interface MemoryRecord {
	readonly path: string;
	readonly text: string;
	/** Another one after each change. */
	readonly version: string;
	/** Who changed it last. */
	readonly source: MemorySource;
	readonly createdAt: number;
	readonly updatedAt: number;
}

/** A memory that is written. What stands at its path is replaced. */
export interface MemoryChange extends Pick<MemoryRecord, 'path' | 'text' | 'source'> {
	/** The versions that it may replace; `*` for any. If it is missing, it also creates. */
	readonly ifMatch?: '*' | readonly string[];
	/** Whether it only creates. */
	readonly ifNoneMatch?: boolean;
}

/** The vector of a version of a memory. */
export interface MemoryVector extends Pick<MemoryRecord, 'version'> {
	readonly vector: readonly number[];
}

/** What a model for vectors says of a query. */
export interface NearQuery {
	readonly model: string;
	readonly vector: readonly number[];
	/** The vectors of memories that had none. They are kept. */
	readonly fresh: readonly MemoryVector[];
}

export interface WrittenMemory {
	readonly memory: MemoryRecord;
	readonly isNew: boolean;
}

export interface MemoryPage {
	readonly memories: readonly MemoryRecord[];
	/** Where the next page begins; missing after the last. */
	readonly cursor?: string;
}

/** The memories of one person: of an owner, or of one of its users. */
export interface MemoryApi {
	/** At most `limit` memories, by path, from a cursor on. */
	list(page: { readonly cursor?: string; readonly limit: number }): Promise<MemoryPage>;
	/** At most `limit` memories that have words of the query, or that are near to it, the best first. */
	search(query: string, limit: number, near?: NearQuery): Promise<readonly MemoryRecord[]>;
	/** At most `limit` memories without a vector of a model, the newest first. */
	listUnembedded(model: string, limit: number): Promise<readonly Pick<MemoryRecord, 'path' | 'version' | 'text'>[]>;
	get(path: string): Promise<MemoryRecord | undefined>;
	/** The memories at these paths. What is missing is left out. */
	getAll(paths: readonly string[]): Promise<readonly MemoryRecord[]>;
	/**
	 * Writes a memory. Fails with `precondition_failed` where a condition does not hold, and with `too_large` where a bound
	 * would be passed.
	 */
	put(change: MemoryChange): Promise<RpcResult<WrittenMemory>>;
	/**
	 * Moves a memory, or all under its path. Resolves to how many there were, also to a call that comes again. Fails with
	 * `not_found`, and with `conflict` where something stands at the new path.
	 */
	rename(from: string, to: string, source: MemorySource): Promise<RpcResult<number>>;
	/** Removes a memory and everything under its path. Resolves to how many there were. */
	remove(path: string): Promise<number>;
	/** Removes one memory, if it has one of these versions. Fails with `not_found` and `precondition_failed`. */
	removeIf(path: string, ifMatch: '*' | readonly string[]): Promise<RpcResult<number>>;
	/** Removes all of them. */
	erase(): Promise<void>;
}

/** The namespace of memories. */
export interface MemoryNamespace {
	idFromName(name: string): DurableObjectId;
	get(id: DurableObjectId): MemoryApi;
}

/** Whose memories they are: an owner's own, or those of one of its users. */
export interface MemoryHolder {
	readonly owner: string;
	readonly user?: string;
}

/**
 * Calls the object with the memories of a holder. Each pair of owner and user has an object of its own, so no query of one
 * can find what belongs to another.
 *
 * @param isSafe whether the call may be made twice
 */
export function askMemory<T>(
	memories: MemoryNamespace,
	{ owner, user }: MemoryHolder,
	ask: (one: MemoryApi) => Promise<T>,
	isSafe: boolean,
): Promise<T> {
	const name = JSON.stringify(user === undefined ? [owner] : [owner, user]);
	const call = () => ask(memories.get(memories.idFromName(name)));
	return reach(call, { what: 'The memory', isSafe, timeoutMs: usualLimitMs });
}

/** Calls it as `askMemory`. Throws the failure that it answers. */
export async function changeMemory<T>(
	memories: MemoryNamespace,
	holder: MemoryHolder,
	ask: (one: MemoryApi) => Promise<RpcResult<T>>,
	isSafe = false,
): Promise<T> {
	return takeValue(await askMemory(memories, holder, ask, isSafe));
}

/** Converts a memory to the form of the API. */
export function showMemory({ createdAt, updatedAt, ...memory }: MemoryRecord): Shown<typeof shownMemory> {
	return {
		...memory,
		createdAt: new Date(createdAt).toISOString(),
		updatedAt: new Date(updatedAt).toISOString(),
	};
}
