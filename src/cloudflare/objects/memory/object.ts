import type { Env } from '../../../core/base/env.ts';
import { DurableObject } from '../platform.ts';
import { type RpcResult, toRpcResult } from '../reach.ts';
import type {
	MemoryApi,
	MemoryChange,
	MemoryPage,
	MemoryRecord,
	MemorySource,
	NearQuery,
	WrittenMemory,
} from './api.ts';
import { MemoryStore } from './store.ts';

export class Memory extends DurableObject<Env> implements MemoryApi {
	readonly #storage: DurableObjectStorage;
	readonly #store: MemoryStore;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#storage = ctx.storage;
		this.#store = new MemoryStore(ctx.storage);
	}

	async list(page: { readonly cursor?: string; readonly limit: number }): Promise<MemoryPage> {
		return this.#store.list(page);
	}

	async search(query: string, limit: number, near?: NearQuery): Promise<readonly MemoryRecord[]> {
		return this.#store.search(query, limit, near);
	}

	async listUnembedded(model: string, limit: number) {
		return this.#store.listUnembedded(model, limit);
	}

	async get(path: string): Promise<MemoryRecord | undefined> {
		return this.#store.get(path);
	}

	async getAll(paths: readonly string[]): Promise<readonly MemoryRecord[]> {
		return paths.flatMap((path) => this.#store.get(path) ?? []);
	}

	put(change: MemoryChange): Promise<RpcResult<WrittenMemory>> {
		return toRpcResult(async () => this.#store.put(change, Date.now()));
	}

	rename(from: string, to: string, source: MemorySource): Promise<RpcResult<number>> {
		return toRpcResult(async () => this.#store.rename(from, to, source, Date.now()));
	}

	async remove(path: string): Promise<number> {
		return this.#store.remove(path);
	}

	removeIf(path: string, ifMatch: '*' | readonly string[]): Promise<RpcResult<number>> {
		return toRpcResult(async () => this.#store.removeIf(path, ifMatch));
	}

	async erase(): Promise<void> {
		await this.#storage.deleteAll();
	}
}
