import type { SqlStorage } from '@cloudflare/workers-types';

/**
 * The tables of a session, one entry a version; a stored session is brought up to date in one transaction. Never change
 * an entry that was released: append the next.
 *
 * `message.seq` is the place in the conversation: `messageStride` apart, so that the results of a turn's calls have
 * their places behind it whatever order they come in; `stored` is that order. A long body is split over `part`s: a row
 * may hold 2 MB. `approval` holds which call of which turn a person allowed, and a hash of its arguments;
 * `delivery` which request came under which `Idempotency-Key`, and the run that it began, 0 for none.
 */
const migrations: readonly string[] = [
	`CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, model TEXT, metadata TEXT, created_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE run (
		n INTEGER PRIMARY KEY, id TEXT NOT NULL, status TEXT NOT NULL, boot TEXT NOT NULL, attempt INTEGER NOT NULL,
		first_seq INTEGER NOT NULL, tail TEXT, created_at INTEGER NOT NULL, ended_at INTEGER
	) WITHOUT ROWID;
	CREATE TABLE message (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, run INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;`,
	`CREATE TABLE approval (
		turn INTEGER NOT NULL, call TEXT NOT NULL, arguments TEXT NOT NULL, created_at INTEGER NOT NULL,
		PRIMARY KEY (turn, call)
	) WITHOUT ROWID;
	CREATE TABLE delivery (
		key TEXT PRIMARY KEY, request TEXT NOT NULL, run INTEGER NOT NULL, created_at INTEGER NOT NULL
	) WITHOUT ROWID;`,
];

/** Places from one message to the next: a turn may have one call less. */
export const messageStride = 65_536;

/** The version of the stored tables; 0 where there are none, which is asked without creating anything. */
export function storedVersion(sql: SqlStorage): number {
	const found = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'").toArray();
	if (found.length === 0) return 0;
	return sql.exec<{ version: number }>('SELECT version FROM schema_version').toArray()[0]?.version ?? 0;
}

/** Brings the tables to the current version. Call it inside a transaction. */
export function migrate(sql: SqlStorage): void {
	const from = storedVersion(sql);
	if (from === migrations.length) return;
	if (from === 0)
		sql.exec('CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (0);');
	for (const statements of migrations.slice(from)) sql.exec(statements);
	sql.exec('UPDATE schema_version SET version = ?', migrations.length);
}
