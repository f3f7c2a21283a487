import type { Sql } from '../../objects/migrate.ts';
import type { Storage } from '../../objects/storage.ts';

/** A reader of a table that caches what it has read. */
export interface Cached<T> {
	(): T;
	/** Writes the table by `write`. The cached value becomes what `next` makes of it, and is not read again. */
	change(write: () => void, next: (known: T) => T): void;
}

/** The storage of an object with a cache for its tables. Nobody else writes the tables of a Durable Object. */
export interface CachingSql extends Sql {
	/** Runs a statement that writes a table with cached readers. */
	readonly write: (table: string, ...statement: Parameters<Sql['exec']>) => ReturnType<Sql['exec']>;
	/** Makes a reader of a table that reads again only after a `write`, or after the cache was cleared. */
	readonly cached: <T>(table: string, read: () => T) => Cached<T>;
	/** Returns another number after each `write` of a table, and after the cache was cleared. */
	readonly version: (table: string) => number;
	/** Bytes of all tables. */
	readonly databaseSize: number;
}

export interface CachingStorage extends Storage {
	readonly sql: CachingSql;
}

/** Wraps the storage of an object with a cache. A rolled-back transaction also clears it. */
export function cacheReads(storage: Storage): CachingStorage {
	const writes = new Map<string, number>();
	let cleared = 0;
	const clear = (): void => {
		cleared++;
	};
	const version = (table: string): number => cleared + (writes.get(table) ?? 0);
	return {
		...storage,
		sql: {
			exec: storage.sql.exec,
			write: (table, ...statement) => {
				writes.set(table, (writes.get(table) ?? 0) + 1);
				return storage.sql.exec(...statement);
			},
			version,
			get databaseSize() {
				return storage.sql.databaseSize;
			},
			cached: (table, read) => {
				type T = ReturnType<typeof read>;
				let known: { readonly at: number; readonly value: T } | undefined;
				const get = (): T => {
					const at = version(table);
					if (known?.at !== at) known = { at, value: read() };
					return known.value;
				};
				const change = (write: () => void, next: (value: T) => T): void => {
					const before = known?.at === version(table) ? known : undefined;
					write();
					if (before !== undefined) known = { at: version(table), value: next(before.value) };
				};
				return Object.assign(get, { change });
			},
		},
		transactionSync: (work) => {
			try {
				return storage.transactionSync(work);
			} catch (cause) {
				clear();
				throw cause;
			}
		},
		deleteAll: () => {
			clear();
			return storage.deleteAll().finally(clear);
		},
	};
}
