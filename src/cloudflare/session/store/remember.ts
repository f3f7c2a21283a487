import type { Sql } from '../../objects/migrate.ts';
import type { Storage } from '../../objects/storage.ts';

/** A reader of a table that remembers what it has read. */
export interface Remembered<T> {
	(): T;
	/** Writes the table by `write`. What was known of it becomes what `next` makes of that, and is not read again. */
	change(write: () => void, next: (known: T) => T): void;
}

/** The storage of an object that remembers what it has read of its tables. */
export interface RememberingSql extends Sql {
	/**
	 * Makes a reader of a table that reads again only after the table was written, or a transaction was rolled back. It is
	 * for small values: they stay in memory. Nobody else writes the tables of a Durable Object.
	 */
	remember<T>(table: string, read: () => T): Remembered<T>;
	/** Returns another number after each write of a table, and after a transaction was rolled back. */
	version(table: string): number;
	/** Bytes of all tables. */
	readonly databaseSize: number;
}

/** A storage whose readers are told of what it writes. */
export interface RememberingStorage extends Storage {
	readonly sql: RememberingSql;
}

/** The table that a statement writes. */
const written = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM) "?(\w+)/;

/** One statement, and none behind it. */
const isSingle = /^[^;]*;?\s*$/;

/** Wraps the storage of an object so that what was read need not be read again until it changes. */
export function rememberReads(storage: Storage): RememberingStorage {
	/** How often each table was written, and how often all that was read was forgotten. */
	const writes = new Map<string, number>();
	let forgotten = 0;
	const version = (table: string): number => forgotten + (writes.get(table) ?? 0);
	const note = (query: string): void => {
		if (/^\s*SELECT\b/.test(query)) return;
		const table = isSingle.test(query) ? written.exec(query)?.[1] : undefined;
		if (table === undefined) forgotten++;
		else writes.set(table, (writes.get(table) ?? 0) + 1);
	};
	/** What fails is undone, and what was read meanwhile may never have been. */
	const forgetIfItFails = <T>(work: () => T): T => {
		try {
			return work();
		} catch (cause) {
			forgotten++;
			throw cause;
		}
	};
	return {
		...storage,
		sql: {
			exec: (query, ...values) => {
				note(query);
				return forgetIfItFails(() => storage.sql.exec(query, ...values));
			},
			version,
			get databaseSize() {
				return storage.sql.databaseSize;
			},
			remember: (table, read) => {
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
		transactionSync: (work) => forgetIfItFails(() => storage.transactionSync(work)),
		deleteAll: () => {
			forgotten++;
			return storage.deleteAll().finally(() => forgotten++);
		},
	};
}
