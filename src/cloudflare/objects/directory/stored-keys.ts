import { RunletError } from '../../../core/base/errors.ts';
import { type KeyRecord, parseStoredKey } from '../../auth/key.ts';
import { askRegistry, type EntryChange, type RegistryNamespace } from './registry.ts';

/** Milliseconds until stored keys are read again. */
const freshMs = 30_000;
/** Milliseconds for which old keys are used while their object cannot be reached. After that, calls fail. */
const mostStaleMs = 60_000;

const mostOfOwner = 1_000;
const mostInDrawer = 2_000;
/** The possible first characters of key ids. Each has a drawer (see `StoredKeys`). */
const firstCharacters = 'abcdefghijklmnopqrstuvwxyz0123456789';
const mostRemembered = 1_000;

interface Read {
	readonly keys: ReadonlyMap<string, KeyRecord>;
	readonly at: number;
}

/**
 * The keys that are stored in objects (docs/keys.md, "Many keys"). Each key is in the registry of its owner and
 * in a drawer. A drawer is a registry for all keys whose ids begin with the same character. So unknown keys
 * cause at most one read of each drawer in half a minute.
 */
export class StoredKeys {
	readonly #directories: () => RegistryNamespace;
	readonly #now: () => number;
	readonly #read = new Map<string, Read>();

	/** @param now the clock, in milliseconds since 1970. */
	constructor(directories: () => RegistryNamespace, now: () => number = () => Date.now()) {
		this.#directories = directories;
		this.#now = now;
	}

	/** Reads the drawer of a key, unless it was read recently. Throws `overloaded` if the drawer cannot be reached. */
	refreshKey(id: string): Promise<void> {
		return this.#refresh(toDrawer(id));
	}

	/** Reads the keys of an owner, unless they were read recently. */
	refreshOwner(owner: string): Promise<void> {
		return this.#refresh(owner);
	}

	find(id: string): KeyRecord | undefined {
		return this.#read.get(toDrawer(id))?.keys.get(id);
	}

	listOfOwner(owner: string): readonly KeyRecord[] {
		return [...(this.#read.get(owner)?.keys.values() ?? [])];
	}

	async list(): Promise<readonly KeyRecord[]> {
		const drawers = await Promise.all([...firstCharacters].map((first) => this.#readKeys(toDrawer(first))));
		return drawers.flatMap((keys) => [...keys.values()]);
	}

	/** Throws `conflict` if there are too many keys. The key works only when the registry and the drawer have it. */
	async add(record: KeyRecord): Promise<void> {
		const { id: name, owner } = record;
		const change = { kind: 'key', name, definition: JSON.stringify(record) } as const;
		await this.#put(owner, { ...change, most: mostOfOwner }, `${owner} has ${mostOfOwner} keys`);
		try {
			await this.#put(toDrawer(name), { ...change, most: mostInDrawer }, 'There is no room for further keys');
		} catch (cause) {
			await this.#remove(owner, name);
			throw cause;
		}
	}

	/** Returns whether the key existed. Changes the drawer last: after a failure, a retry still finds the key. */
	async remove(id: string): Promise<boolean> {
		const entry = await askRegistry(this.#directories(), toDrawer(id), (one) => one.getEntry('key', id));
		if (entry === undefined) return false;
		const record = parseStoredKey(entry.definition);
		if (record !== undefined) await this.#remove(record.owner, id);
		await this.#remove(toDrawer(id), id);
		return true;
	}

	async #refresh(name: string): Promise<void> {
		const known = this.#read.get(name);
		const age = known === undefined ? Number.POSITIVE_INFINITY : this.#now() - known.at;
		if (age < freshMs) return;
		const at = this.#now();
		try {
			const keys = await this.#readKeys(name);
			const before = this.#read.get(name);
			if (before === undefined || before.at <= at) this.#remember(name, { keys, at });
		} catch (cause) {
			if (age >= mostStaleMs) throw cause;
		}
	}

	/** Remembers a read. Bounds the memory: the oldest read is forgotten first. */
	#remember(name: string, read: Read): void {
		this.#read.delete(name);
		for (const oldest of this.#read.keys()) {
			if (this.#read.size < mostRemembered) break;
			this.#read.delete(oldest);
		}
		this.#read.set(name, read);
	}

	async #readKeys(name: string): Promise<ReadonlyMap<string, KeyRecord>> {
		const entries = await askRegistry(this.#directories(), name, (one) => one.listEntries('key'));
		const records = entries.flatMap(({ definition }) => parseStoredKey(definition) ?? []);
		return new Map(records.map((record) => [record.id, record]));
	}

	async #put(name: string, change: EntryChange, full: string): Promise<void> {
		const outcome = await askRegistry(this.#directories(), name, (one) => one.putEntry(change));
		this.#read.delete(name);
		if (outcome !== 'full') return;
		throw new RunletError('conflict', `${full}, which is the most. Revoke one first.`);
	}

	async #remove(name: string, id: string): Promise<void> {
		await askRegistry(this.#directories(), name, (one) => one.removeEntry('key', id));
		this.#read.delete(name);
	}
}

/** Returns the name of a drawer. The name contains a space, so no owner can have this name. */
function toDrawer(id: string): string {
	return `keys ${id.slice(0, 1)}`;
}
