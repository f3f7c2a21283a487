import type { SqlStorage } from '@cloudflare/workers-types';
import { RunletError } from '../../core/base/errors.ts';

export type Sql = Pick<SqlStorage, 'exec'>;

export interface Schema {
	readonly tables: string;
	/** The SQL from each version to the next. Never change a released entry. Append an entry, and change `tables`. */
	readonly migrations: readonly string[];
}

export interface Mark {
	/** The version of the tables, which starts at 1. 0 without tables. */
	readonly version: number;
	/** Where the tables are, if they are in an archive. */
	readonly archive?: string;
}

/** Reads the version of an object's tables. Creates nothing. */
export function readMark(sql: Sql): Mark {
	if (sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").toArray().length === 0)
		return { version: 0 };
	const { version, archive } = sql.exec<{ version: number; archive: string }>('SELECT * FROM schema_version').one();
	return { version, archive };
}

/** Stores the version of the tables. A view takes no page, and a table would take 4 KB. Call it in a transaction. */
export function writeMark(sql: Sql, { version, archive }: Mark): void {
	const where = archive === undefined ? '' : `, '${archive.replaceAll("'", "''")}' AS archive`;
	sql.exec(`DROP VIEW IF EXISTS schema_version; CREATE VIEW schema_version AS SELECT ${version} AS version${where}`);
}

/** Makes or updates the tables. Call it in a transaction. Throws `not_configured` for tables of a newer version. */
export function migrate(sql: Sql, { tables, migrations }: Schema): void {
	const newest = migrations.length + 1;
	const { version: from } = readMark(sql);
	if (from === newest) return;
	if (from > newest) {
		const message = `The tables of this object have version ${from}, and this Worker knows ${newest}. Deploy the newer Worker again; on a laptop, remove .wrangler/state if you do not need it.`;
		throw new RunletError('not_configured', message);
	}
	if (from === 0) sql.exec(tables);
	else for (const statements of migrations.slice(from - 1)) sql.exec(statements);
	writeMark(sql, { version: newest });
}
