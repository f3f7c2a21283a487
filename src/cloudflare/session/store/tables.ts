import type { Sql } from '../../objects/migrate.ts';
import type { Storage } from '../../objects/storage.ts';

/** The beginning of a statement that creates a table or its index, with the name of the table. */
const making = /^\s*CREATE (?:TABLE|INDEX \w+ ON) (\w+)/;

const column = /\b(\w+) (?:TEXT|INTEGER|REAL|BLOB)\b/g;

/** A single statement about rows, columns or an index. Any other statement has unknown effects. */
const isKnown = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|ALTER|CREATE INDEX)\b[^;]*;?\s*$/;

/** Finds the tables of a statement. A statement that changes rows changes only the first of these tables. */
const named = /\b(?:FROM|JOIN|INTO|UPDATE|ALTER TABLE|INDEX \w+ ON) "?(\w+)/g;

/**
 * Wraps the storage of an object so that a table is created with its first row. Until then the table reads as empty.
 * This saves space: each table and each index needs at least one page of 4 KB.
 *
 * @param tables the statements that create the tables and their indexes
 */
export function makeTables(storage: Storage, tables: string): Storage {
	const statements = new Map<string, string>();
	for (const statement of tables.split(';')) {
		const [, name] = making.exec(statement) ?? [];
		if (name !== undefined) statements.set(name, `${statements.get(name) ?? ''}${statement};`);
	}

	/** The existing tables. Unknown after a rollback, which may have removed tables. */
	let made: Set<string> | undefined;
	const readMade = () => {
		const query = "SELECT name FROM sqlite_master WHERE type = 'table'";
		return new Set([...storage.sql.exec<{ name: string }>(query)].map(({ name }) => name));
	};
	const exec: Storage['sql']['exec'] = (query, ...values) => {
		if (!isKnown.test(query)) {
			made = undefined;
			return storage.sql.exec(query, ...values);
		}
		const names = [...query.matchAll(named)].flatMap(([, name = '']) => (statements.has(name) ? [name] : []));
		made ??= readMade();
		const found = made;
		const missing = new Set(names.filter((name) => !found.has(name)));
		if (missing.size === 0) return storage.sql.exec(query, ...values);
		if (/^\s*INSERT\b/.test(query)) {
			for (const name of missing) {
				storage.transactionSync(() => storage.sql.exec(statements.get(name) ?? ''));
				found.add(name);
			}
			return storage.sql.exec(query, ...values);
		}
		const isRead = /^\s*SELECT\b/.test(query);
		// A missing table has nothing to update, delete, alter or index.
		if (!isRead && missing.has(names[0] ?? '')) return storage.sql.exec('SELECT NULL WHERE FALSE');
		const empty = [...missing].map((name) => `${name} AS (${selectNothing(statements.get(name) ?? '')})`);
		return storage.sql.exec(`WITH ${empty.join(', ')} ${query}`, ...values);
	};
	return {
		...storage,
		sql: {
			exec,
			get databaseSize() {
				return storage.sql.databaseSize;
			},
		},
		transactionSync: (work) => {
			try {
				return storage.transactionSync(work);
			} catch (cause) {
				made = undefined;
				throw cause;
			}
		},
		deleteAll: () => {
			made = undefined;
			return storage.deleteAll().finally(() => {
				made = undefined;
			});
		},
	};
}

function selectNothing(statement: string): string {
	const columns = [...statement.matchAll(column)].map(([, name = '']) => `NULL AS ${name}`);
	return `SELECT ${columns.join(', ')} WHERE FALSE`;
}

export interface Cached<T> {
	(): T;
	/** Writes the table with `write`, and computes the new cached value with `next`. */
	change(write: () => void, next: (known: T) => T): void;
}

/** Cached access to the tables of an object. Only the object itself writes them. */
export interface CachingSql extends Sql {
	/** Runs a statement that writes a table with cached readers. */
	readonly write: (table: string, ...statement: Parameters<Sql['exec']>) => ReturnType<Sql['exec']>;
	/** Inserts a row, given as values by column. */
	readonly insert: (table: string, row: Readonly<Record<string, string | number | null>>, or?: 'REPLACE') => void;
	/** Creates a reader of a table. It reads again only after a `write`, or after the cache was cleared. */
	readonly cached: <T>(table: string, read: () => T) => Cached<T>;
	/** Returns another number after each `write` of a table, and after the cache was cleared. */
	readonly version: (table: string) => number;
	readonly databaseSize: number;
}

export interface CachingStorage extends Storage {
	readonly sql: CachingSql;
}

/** Wraps the storage of an object with a cache. A rolled-back transaction also clears the cache. */
export function cacheReads(storage: Storage): CachingStorage {
	const writes = new Map<string, number>();
	let cleared = 0;
	const clear = (): void => {
		cleared++;
	};
	const version = (table: string): number => cleared + (writes.get(table) ?? 0);
	const write: CachingSql['write'] = (table, ...statement) => {
		writes.set(table, (writes.get(table) ?? 0) + 1);
		return storage.sql.exec(...statement);
	};
	return {
		...storage,
		sql: {
			exec: storage.sql.exec,
			write,
			insert: (table, row, or) => {
				const names = Object.keys(row);
				const into = `INSERT${or === undefined ? '' : ` OR ${or}`} INTO ${table} (${names.join(', ')})`;
				write(table, `${into} VALUES (${names.map(() => '?').join(', ')})`, ...Object.values(row));
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
