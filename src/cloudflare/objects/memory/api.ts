import type { shownMemory } from '../../wire/memory.ts';
import type { Shown } from '../../wire/operation.ts';
import { type RpcResult, reach, takeValue, usualLimitMs } from '../reach.ts';

export type MemorySource = Shown<typeof shownMemory>['source'];

/** Whether two changes came from the same call, which is possibly repeated after a crash. */
export function isSameSource(one: MemorySource, other: MemorySource): boolean {
	const toText = ({ outside: _, ...source }: MemorySource) => JSON.stringify(source);
	return toText(one) === toText(other);
}

/** Returns the source of a memory that keeps something of what was there before, and so its text of strangers. */
export function keepOutside(source: MemorySource, before: MemorySource): MemorySource {
	return before.outside === true ? { ...source, outside: true } : source;
}

/** Times are milliseconds since 1970. */
export interface MemoryRecord {
	readonly path: string;
	readonly text: string;
	/** A new version after each change. */
	readonly version: string;
	readonly source: MemorySource;
	readonly createdAt: number;
	readonly updatedAt: number;
}

export interface MemoryChange extends Pick<MemoryRecord, 'path' | 'text' | 'source'> {
	/** The versions that the change can replace (`*`: any). Without this field the change can also create a memory. */
	readonly ifMatch?: '*' | readonly string[];
	/** Whether the change can only create a memory. */
	readonly ifNoneMatch?: boolean;
}

export interface MemoryVector extends Pick<MemoryRecord, 'version'> {
	readonly vector: readonly number[];
}

export interface NearQuery {
	readonly model: string;
	readonly vector: readonly number[];
	/** New vectors to store, for memories without a vector. */
	readonly fresh: readonly MemoryVector[];
}

export interface WrittenMemory {
	readonly memory: MemoryRecord;
	readonly isNew: boolean;
}

export interface MemoryPage {
	readonly memories: readonly MemoryRecord[];
	/** Missing on the last page. */
	readonly cursor?: string;
}

export interface MemoryApi {
	list(page: { readonly cursor?: string; readonly limit: number }): Promise<MemoryPage>;
	/** Finds memories that have words of the query, or a vector near the query's vector. The best comes first. */
	search(query: string, limit: number, near?: NearQuery): Promise<readonly MemoryRecord[]>;
	/** Lists memories that have no vector of this model, the newest first. */
	listUnembedded(model: string, limit: number): Promise<readonly Pick<MemoryRecord, 'path' | 'version' | 'text'>[]>;
	get(path: string): Promise<MemoryRecord | undefined>;
	/** Returns memories by their paths. A missing memory is left out. */
	getAll(paths: readonly string[]): Promise<readonly MemoryRecord[]>;
	/** Fails with `precondition_failed` if a condition does not hold, and with `too_large` above a limit. */
	put(change: MemoryChange): Promise<RpcResult<WrittenMemory>>;
	/**
	 * Moves a memory, or all memories below a path. Returns the number of moved memories, also for a repeated
	 * call. Fails with `not_found`, and with `conflict` if the new path is in use.
	 */
	rename(from: string, to: string, source: MemorySource): Promise<RpcResult<number>>;
	/** Removes a memory and all memories below its path. Returns the number of removed memories. */
	remove(path: string): Promise<number>;
	/** Removes a memory of one of these versions. Fails with `not_found` and `precondition_failed`. */
	removeIf(path: string, ifMatch: '*' | readonly string[]): Promise<RpcResult<number>>;
	erase(): Promise<void>;
}

export interface MemoryNamespace {
	idFromName(name: string): DurableObjectId;
	get(id: DurableObjectId): MemoryApi;
}

export interface MemoryHolder {
	readonly owner: string;
	readonly user?: string;
}

/** Calls the object of one holder, which has no memories of other holders. `isSafe`: the call is safe to repeat. */
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

/** Returns the owner of memories by the name of their object. */
export function findHolderOwner(name: string): string {
	return String(JSON.parse(name)[0]);
}

/** The number of memories in a page of an export. */
const atOnce = 100;

export async function* listAllMemories(memories: MemoryNamespace, holder: MemoryHolder): AsyncGenerator<MemoryRecord> {
	let cursor: string | undefined;
	do {
		const at = cursor;
		const page = await askMemory(memories, holder, (one) => one.list({ cursor: at, limit: atOnce }), true);
		yield* page.memories;
		cursor = page.cursor;
	} while (cursor !== undefined);
}

/** Like `askMemory`, but throws if the answer is a failure. */
export async function changeMemory<T>(
	memories: MemoryNamespace,
	holder: MemoryHolder,
	ask: (one: MemoryApi) => Promise<RpcResult<T>>,
	isSafe = false,
): Promise<T> {
	return takeValue(await askMemory(memories, holder, ask, isSafe));
}

export function showMemory({ createdAt, updatedAt, ...memory }: MemoryRecord): Shown<typeof shownMemory> {
	return {
		...memory,
		createdAt: new Date(createdAt).toISOString(),
		updatedAt: new Date(updatedAt).toISOString(),
	};
}
