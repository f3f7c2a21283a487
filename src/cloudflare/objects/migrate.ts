import type { SqlStorage } from '@cloudflare/workers-types';

/** The part of an object's storage that runs statements. */
export type Sql = Pick<SqlStorage, 'exec'>;

/** The tables of an object. */
export interface Schema {
	/** The statements that make the tables of the newest version. */
	readonly tables: string;
	/** The statements of each version, for objects that have an older one. One that was released never changes. */
	readonly migrations: readonly string[];
}

/** Reads the version of an object's tables without creating anything. 0 if there are none. */
export function readVersion(sql: Sql): number {
	return findHolder(sql) === undefined
		? 0
		: sql.exec<{ version: number }>('SELECT version FROM schema_version').one().version;
}

/**
 * Makes an object's tables, or brings those that it has to the newest version. Both ways lead to the same tables. Call
 * it inside a transaction.
 */
export function migrate(sql: Sql, { tables, migrations }: Schema): void {
	const newest = migrations.length;
	const from = readVersion(sql);
	if (from === newest) return;
	if (from === 0) {
		sql.exec(`${tables} ${holdVersion(newest)}`);
		return;
	}
	for (const statements of migrations.slice(from)) sql.exec(statements);
	sql.exec(`DROP ${findHolder(sql)} schema_version`);
	sql.exec(holdVersion(newest));
}

/** Returns what holds the version: a view, or a table in an object of an earlier version. */
function findHolder(sql: Sql): string | undefined {
	return sql.exec<{ type: string }>("SELECT type FROM sqlite_master WHERE name = 'schema_version'").toArray()[0]?.type;
}

/** A view holds the version: a table takes a page of 4 KB. */
function holdVersion(version: number): string {
	return `CREATE VIEW schema_version AS SELECT ${version} AS version`;
}
