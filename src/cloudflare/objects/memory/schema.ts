import type { Schema } from '../migrate.ts';

/**
 * The tables of a memory. `source` is JSON. `word` is the index of words, with the rows of `memory` by their ids; it stands
 * apart, because the words in it are prepared (`words.ts`). `vector` has the vectors of the versions of memories, by the
 * model that has made them: floats of 32 bits.
 */
const tables = `
	CREATE TABLE memory (
		id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, text TEXT NOT NULL, version TEXT NOT NULL, source TEXT NOT NULL,
		created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
	);
	CREATE VIRTUAL TABLE word USING fts5 (path, text, tokenize = 'porter unicode61 remove_diacritics 2');
	CREATE TABLE vector (
		version TEXT NOT NULL, model TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (version, model)
	) WITHOUT ROWID;
`;

export const schema: Schema = { tables, migrations: [] };
