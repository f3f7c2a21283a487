import { readConfig } from '../../config/config.ts';
import type { WorkerEnv } from '../../config/env.ts';
import { askDirectory, type DirectoryApi, type DirectoryPage, everybody, type Listed } from '../../rpc/directory.ts';
import type { Entry, EntryChange, EntryKind, EntryOutcome } from '../../rpc/registry.ts';
import { DurableObject } from '../durable-object.ts';
import { RegistryStore } from './registry.ts';
import { DirectoryStore } from './store.ts';

/** The Durable Object of an owner's directory. */
export class Directory extends DurableObject<WorkerEnv> implements DirectoryApi {
	readonly #store: DirectoryStore;
	readonly #registry: RegistryStore;
	readonly #now: () => number;

	/** @param now the clock, in milliseconds since 1970. */
	constructor(ctx: DurableObjectState, env: WorkerEnv, now: () => number = Date.now) {
		super(ctx, env);
		this.#now = now;
		this.#store = new DirectoryStore(ctx.storage);
		this.#registry = new RegistryStore(ctx.storage);
	}

	async touch(entry: Listed, owner?: string): Promise<void> {
		this.#store.touch(entry);
		if (owner === undefined || this.#store.hasOwner(owner)) return;
		const { directories } = readConfig(this.env);
		await askDirectory(directories, everybody, (one) => one.addOwner(owner));
		this.#store.addOwner(owner);
	}

	async remove(id: string): Promise<void> {
		this.#store.remove(id, this.#now());
	}

	async list(page: { readonly cursor?: string; readonly limit: number }): Promise<DirectoryPage> {
		return this.#store.list(page);
	}

	async noteSent(request: string, session: string): Promise<void> {
		this.#store.noteSent(request, session, this.#now());
	}

	async findSent(request: string): Promise<string | undefined> {
		return this.#store.findSent(request, this.#now());
	}

	async addOwner(owner: string): Promise<void> {
		this.#store.addOwner(owner);
	}

	async listOwners(limit: number): Promise<string[]> {
		return this.#store.listOwners(limit);
	}

	async putEntry(change: EntryChange): Promise<EntryOutcome> {
		return this.#registry.put(change, this.#now());
	}

	async getEntry(kind: EntryKind, name: string): Promise<Entry | undefined> {
		return this.#registry.get(kind, name);
	}

	async listEntries(kind: EntryKind): Promise<Entry[]> {
		return this.#registry.list(kind);
	}

	async removeEntry(kind: EntryKind, name: string): Promise<boolean> {
		return this.#registry.remove(kind, name);
	}
}
