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
	const found = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'").toArray();
	if (found.length === 0) return 0;
	return sql.exec<{ version: number }>('SELECT version FROM schema_version').toArray()[0]?.version ?? 0;
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
		sql.exec(`CREATE TABLE schema_version (version INTEGER NOT NULL); ${tables}`);
		sql.exec('INSERT INTO schema_version VALUES (?)', newest);
		return;
	}
	for (const statements of migrations.slice(from)) sql.exec(statements);
	sql.exec('UPDATE schema_version SET version = ?', newest);
}
