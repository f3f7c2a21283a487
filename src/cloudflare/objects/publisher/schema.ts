/**
 * The tables of a publisher, one entry a version. Never change an entry that was released: append the next.
 *
 * `part` has the two documents that were written last (`index`, `retired`), in pieces that fit a row; `written` says when,
 * and whether KV has them.
 */
export const migrations: readonly string[] = [
	`CREATE TABLE part (document TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (document, position)) WITHOUT ROWID;
	CREATE TABLE written (id INTEGER PRIMARY KEY CHECK (id = 0), at INTEGER NOT NULL, pending INTEGER NOT NULL);`,
];
