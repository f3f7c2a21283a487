import type { Schema } from '../migrate.ts';

/**
 * The tables of a directory.
 *
 * `active_at` of a session that was `removed` is the time of that; `hour` is the same in hours since 1970. The index is what
 * lists are read from, and what finds the removed ones that may be forgotten. It knows the hour only, so that most
 * activities do not change it: a row of an index costs as much as one of a table. `owner` has all
 * owners in the directory of everybody, and in that of one owner its name. `sent` says which session a request went to
 * whose client may send it again, by a hash of the request. `entry` is the owner's registry (`registry-api.ts`). `wait` has
 * the sessions that wait for somebody, with their open calls as JSON (`wait.ts`). `bytes` is what a session holds, as it
 * was told last.
 * `schedule` has what is woken and when (`schedule-api.ts`): `due_at` is the time that is next, `try_at` when it is tried,
 * which is later after a failure. Both are missing once the last time is over. `askers` is JSON.
 */
const tables = `
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL, active_at INTEGER NOT NULL,
		removed INTEGER NOT NULL, hour INTEGER NOT NULL DEFAULT 0, user TEXT,
		bytes INTEGER NOT NULL DEFAULT 0
	) WITHOUT ROWID;
	CREATE TABLE owner (name TEXT PRIMARY KEY) WITHOUT ROWID;
	CREATE TABLE sent (request TEXT PRIMARY KEY, session TEXT NOT NULL, sent_at INTEGER NOT NULL) WITHOUT ROWID;
	CREATE INDEX sent_by_time ON sent (sent_at);
	CREATE TABLE entry (
		kind TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, definition TEXT NOT NULL, sealed TEXT,
		created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (kind, name)
	) WITHOUT ROWID;
	CREATE INDEX session_by_hour ON session (removed, hour);
	CREATE TABLE wait (
		session TEXT PRIMARY KEY, since INTEGER NOT NULL, agent TEXT NOT NULL, calls TEXT NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE schedule (
		target TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, time TEXT NOT NULL, text TEXT, due_at INTEGER,
		try_at INTEGER, failed INTEGER NOT NULL DEFAULT 0, last TEXT, created_at INTEGER NOT NULL, askers TEXT,
		user TEXT, PRIMARY KEY (target, name)
	) WITHOUT ROWID;
	CREATE INDEX schedule_by_time ON schedule (try_at) WHERE try_at IS NOT NULL;
	CREATE INDEX session_by_user ON session (user, hour) WHERE user IS NOT NULL;
`;

/** One entry a version. Never change an entry that was released: append the next, and change `tables` alike. */
const migrations: readonly string[] = [
	`CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL, active_at INTEGER NOT NULL,
		removed INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE INDEX session_by_activity ON session (removed, active_at);
	CREATE TABLE owner (name TEXT PRIMARY KEY) WITHOUT ROWID;
	CREATE TABLE sent (request TEXT PRIMARY KEY, session TEXT NOT NULL, sent_at INTEGER NOT NULL) WITHOUT ROWID;
	CREATE INDEX sent_by_time ON sent (sent_at);`,
	`CREATE TABLE entry (
		kind TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, definition TEXT NOT NULL, sealed TEXT,
		created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (kind, name)
	) WITHOUT ROWID;`,
	`ALTER TABLE session ADD COLUMN hour INTEGER NOT NULL DEFAULT 0;
	UPDATE session SET hour = active_at / 3600000;
	DROP INDEX session_by_activity;
	CREATE INDEX session_by_hour ON session (removed, hour);`,
	`CREATE TABLE wait (
		session TEXT PRIMARY KEY, since INTEGER NOT NULL, agent TEXT NOT NULL, calls TEXT NOT NULL
	) WITHOUT ROWID;`,
	`CREATE TABLE schedule (
		target TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, time TEXT NOT NULL, text TEXT, due_at INTEGER,
		try_at INTEGER, failed INTEGER NOT NULL DEFAULT 0, last TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (target, name)
	) WITHOUT ROWID;
	CREATE INDEX schedule_by_time ON schedule (try_at) WHERE try_at IS NOT NULL;`,
	'ALTER TABLE schedule ADD COLUMN askers TEXT;',
	`ALTER TABLE session ADD COLUMN user TEXT; ALTER TABLE session ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE schedule ADD COLUMN user TEXT;
	CREATE INDEX session_by_user ON session (user, hour) WHERE user IS NOT NULL;`,
];

export const schema: Schema = { tables, migrations };
