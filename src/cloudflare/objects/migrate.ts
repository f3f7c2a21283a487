import type { SqlStorage } from '@cloudflare/workers-types';

/** The part of an object's storage that runs statements. */
export type Sql = Pick<SqlStorage, 'exec'>;

/** Reads the version of an object's tables without creating anything. 0 if there are none. */
export function readVersion(sql: Sql): number {
	const found = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'").toArray();
	if (found.length === 0) return 0;
	return sql.exec<{ version: number }>('SELECT version FROM schema_version').toArray()[0]?.version ?? 0;
}

/**
 * Brings an object's tables to the newest version. `migrations` has the statements of each version; one that was
 * released never changes. Call it inside a transaction.
 */
export function migrate(sql: Sql, migrations: readonly string[]): void {
	const from = readVersion(sql);
	if (from === migrations.length) return;
	if (from === 0)
		sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (0);');
	for (const statements of migrations.slice(from)) sql.exec(statements);
	sql.exec('UPDATE schema_version SET version = ?', migrations.length);
}
