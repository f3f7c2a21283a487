import type { Schema } from '../migrate.ts';

/**
 * The tables of a publisher.
 *
 * `part` has the two documents that were written last (`index`, `retired`), in pieces that fit a row; `written` says when,
 * and whether KV has them.
 */
const tables = `
	CREATE TABLE part (document TEXT NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (document, position)) WITHOUT ROWID;
	CREATE TABLE written (id INTEGER PRIMARY KEY CHECK (id = 0), at INTEGER NOT NULL, pending INTEGER NOT NULL);
`;

export const schema: Schema = { tables, migrations: [] };
