import type { Schema } from '../migrate.ts';
import { tokenizer } from '../words.ts';

export const idle = 0;
export const removed = 1;
export const waits = 2;
/** The state of a rerun, which few lists have. */
export const hidden = 3;

export const listed = [idle, waits] as const;
export const kept = [...listed, hidden] as const;

/** `feedback` has what people said about runs (`feedback.ts`). */
const feedback = `
	CREATE TABLE feedback (
		session TEXT NOT NULL, run INTEGER NOT NULL, run_id TEXT NOT NULL, rating TEXT NOT NULL, at INTEGER NOT NULL,
		agent TEXT NOT NULL, user TEXT, note TEXT, PRIMARY KEY (session, run)
	) WITHOUT ROWID;
	CREATE INDEX feedback_by_time ON feedback (rating, at, session, run);
	CREATE INDEX feedback_by_agent ON feedback (rating, agent, at, session, run);
	CREATE INDEX feedback_by_user ON feedback (rating, user, at, session, run) WHERE user IS NOT NULL;
	CREATE INDEX feedback_by_agent_user ON feedback (rating, agent, user, at, session, run) WHERE user IS NOT NULL;
`;

/** Finds the schedules that are over. */
const over = "CREATE INDEX schedule_over ON schedule (last ->> 'at') WHERE try_at IS NULL;";

/** The words of the sessions' titles. `session.word_row` is the row of a session in the index (`title-rows.ts`). */
const words = `
	ALTER TABLE session ADD COLUMN word_row INTEGER;
	CREATE VIRTUAL TABLE word USING fts5 (session UNINDEXED, title, whose, columnsize = 0, ${tokenizer});
`;

/** The words of the sessions' titles and contents (`content-rows.ts`). The first session with contents makes this table. */
export const contents = `
	CREATE VIRTUAL TABLE IF NOT EXISTS content USING fts5 (
		session UNINDEXED, title, text, whose, columnsize = 0, ${tokenizer}
	);
`;

/** The owners of entries in the directory `everybody`. In any other directory both are NULL. */
const owners = 'ALTER TABLE session ADD COLUMN owner TEXT; ALTER TABLE feedback ADD COLUMN owner TEXT;';

/**
 * The tables of a directory.
 *
 * `session.active_at` is the time of the last activity, or of the removal. `bytes` is the number that the
 * session reported last. A list reads a range of one index for each state, so it reads only rows that it
 * returns. `session_by_time` also finds old removed sessions.
 *
 * `owner` contains all owners in the directory `everybody`, and only its own owner in any other directory.
 * `sent` has the session of each request that a client can repeat, by the request's hash. `entry` is the
 * registry (`registry.ts`). `waiting` has the calls that wait for somebody, as JSON (`wait.ts`).
 *
 * `schedule` (`schedule-api.ts`): `due_at` is the next due time. `try_at` is the time of the next attempt, which
 * is later than `due_at` after a failure. Both are NULL after the last due time. `askers` is JSON.
 */
const tables = `
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, title TEXT, created_at INTEGER NOT NULL, active_at INTEGER NOT NULL,
		state INTEGER NOT NULL, user TEXT, bytes INTEGER NOT NULL DEFAULT 0
	) WITHOUT ROWID;
	CREATE TABLE owner (name TEXT PRIMARY KEY) WITHOUT ROWID;
	CREATE TABLE sent (request TEXT PRIMARY KEY, session TEXT NOT NULL, sent_at INTEGER NOT NULL) WITHOUT ROWID;
	CREATE INDEX sent_by_time ON sent (sent_at);
	CREATE TABLE entry (
		kind TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, definition TEXT NOT NULL, sealed TEXT,
		created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (kind, name)
	) WITHOUT ROWID;
	CREATE INDEX session_by_time ON session (state, active_at, id);
	CREATE INDEX session_by_agent ON session (state, agent, active_at, id);
	CREATE INDEX session_by_user ON session (state, user, active_at, id);
	CREATE INDEX session_by_agent_user ON session (state, agent, user, active_at, id);
	CREATE TABLE waiting (
		session TEXT NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, since INTEGER NOT NULL, agent TEXT NOT NULL,
		user TEXT, call TEXT NOT NULL, PRIMARY KEY (session, place, kind)
	) WITHOUT ROWID;
	CREATE INDEX waiting_by_time ON waiting (kind, since, session, place);
	CREATE INDEX waiting_by_agent ON waiting (kind, agent, since, session, place);
	CREATE INDEX waiting_by_user ON waiting (kind, user, since, session, place) WHERE user IS NOT NULL;
	CREATE INDEX waiting_by_agent_user ON waiting (kind, agent, user, since, session, place) WHERE user IS NOT NULL;
	CREATE TABLE schedule (
		target TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, time TEXT NOT NULL, text TEXT, due_at INTEGER,
		try_at INTEGER, failed INTEGER NOT NULL DEFAULT 0, last TEXT, created_at INTEGER NOT NULL, askers TEXT,
		user TEXT, PRIMARY KEY (target, name)
	) WITHOUT ROWID;
	CREATE INDEX schedule_by_time ON schedule (try_at) WHERE try_at IS NOT NULL;
`;

export type SessionRow = {
	id: string;
	owner: string | null;
	agent: string;
	user: string | null;
	title: string | null;
	created_at: number;
	active_at: number;
	state: number;
	bytes: number;
	word_row: number | null;
};

export function nameIndex(
	table: 'session' | 'waiting' | 'feedback',
	{ agent, user }: Readonly<Record<'agent' | 'user', unknown>>,
): string {
	const filters = [...(agent === undefined ? [] : ['agent']), ...(user === undefined ? [] : ['user'])];
	return [`${table}_by`, ...(filters.length === 0 ? ['time'] : filters)].join('_');
}

export const schema: Schema = {
	tables: tables + feedback + over + words + owners,
	migrations: [feedback, over, words, owners],
};
