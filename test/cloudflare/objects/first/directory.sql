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
