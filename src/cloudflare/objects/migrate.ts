import type { SqlStorage } from '@cloudflare/workers-types';
import { RunletError } from '../../core/base/errors.ts';

export type Sql = Pick<SqlStorage, 'exec'>;

export interface Schema {
	readonly tables: string;
	/** The SQL from each version to the next. Never change a released entry. Append an entry, and change `tables`. */
	readonly migrations: readonly string[];
}

/** Reads the version of an object's tables, which starts at 1. Returns 0 without tables. Creates nothing. */
export function readVersion(sql: Sql): number {
	if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").toArray().length === 0) return 0;
	return sql.exec<{ version: number }>('SELECT version FROM schema_version').one().version;
}

/** Makes or updates the tables. Call it in a transaction. Throws `not_configured` for tables of a newer version. */
export function migrate(sql: Sql, { tables, migrations }: Schema): void {
	const newest = migrations.length + 1;
	const from = readVersion(sql);
	if (from === newest) return;
	if (from > newest) {
		const message = `The tables of this object have version ${from}, and this Worker knows ${newest}. Deploy the newer Worker again; on a laptop, remove .wrangler/state if you do not need it.`;
		throw new RunletError('not_configured', message);
	}
	if (from === 0) sql.exec(tables);
	else {
		for (const statements of migrations.slice(from - 1)) sql.exec(statements);
		sql.exec('DROP VIEW schema_version');
	}
	sql.exec(`CREATE VIEW schema_version AS SELECT ${newest} AS version`); // A table would take a page of 4 KB.
}
