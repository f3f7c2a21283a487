import { type Http, type SignalOption, toPathAddress, toQuery } from './http.ts';
import type { Memory, MemoryPage } from './types.ts';

export type MemoryClient = ReturnType<typeof createMemoryClient>;

/** Selects the memories of a user. Without a user, selects the owner's own memories. */
export interface MemoryHolderOptions extends SignalOption {
	readonly user?: string;
}

export interface MemoryChangeOptions extends MemoryHolderOptions {
	/** The version to change. The call fails as `precondition_failed` if the memory has changed since. */
	readonly version?: string;
}

export interface MemoryPutOptions extends MemoryChangeOptions {
	/** Whether the memory must be new. The call fails as `precondition_failed` if the path already has a memory. */
	readonly isNew?: boolean;
}

export interface MemoryPageOptions extends MemoryHolderOptions {
	readonly cursor?: string;
	readonly limit?: number;
}

/** Creates the methods of `/v1/memories`: the memories of an owner and of its users. The methods need an API key. */
export function createMemoryClient(http: Http) {
	/** Lists memories by path, a page at a time. */
	function listMemories({ signal, ...query }: MemoryPageOptions = {}): Promise<MemoryPage> {
		return http.json(`${memories}${toQuery(query)}`, { signal });
	}

	return {
		listMemories,

		/** Finds memories by words in them, the best matches first. */
		async searchMemories(
			query: string,
			{ signal, ...more }: Omit<MemoryPageOptions, 'cursor'> = {},
		): Promise<readonly Memory[]> {
			return (await http.json<MemoryPage>(`${memories}${toQuery({ query, ...more })}`, { signal })).memories;
		},

		/** Reads all memories page by page, sorted by path. */
		async *exportMemories(options: MemoryHolderOptions = {}): AsyncGenerator<Memory, undefined> {
			let cursor: string | undefined;
			do {
				const page: MemoryPage = await listMemories({ ...options, limit: 100, cursor });
				yield* page.memories;
				cursor = page.cursor;
			} while (cursor !== undefined);
		},

		async getMemory(path: string, { user, signal }: MemoryHolderOptions = {}): Promise<Memory> {
			return http.json(toAddress(path, user), { signal });
		},

		/** Writes a memory, or replaces the memory at its path. */
		async putMemory(
			path: string,
			text: string,
			{ user, version, isNew, signal }: MemoryPutOptions = {},
		): Promise<Memory> {
			const headers = { ...toCondition(version), ...(isNew && { 'if-none-match': '*' }) };
			return http.json(toAddress(path, user), { method: 'PUT', body: { text }, headers, signal });
		},

		async deleteMemory(path: string, { user, version, signal }: MemoryChangeOptions = {}): Promise<void> {
			return http.remove(toAddress(path, user), signal, toCondition(version));
		},

		/** Removes all memories of a user. Without a user, removes the owner's own memories. */
		eraseMemories({ user, signal }: MemoryHolderOptions = {}): Promise<void> {
			return http.remove(`${memories}${toQuery({ user })}`, signal);
		},
	};
}

const memories = '/v1/memories';

function toAddress(path: string, user: string | undefined): string {
	return `${memories}/${toPathAddress(path)}${toQuery({ user })}`;
}

function toCondition(version: string | undefined): Record<string, string> {
	return version === undefined ? {} : { 'if-match': `"${version}"` };
}
