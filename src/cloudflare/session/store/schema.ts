import type { Schema } from '../../objects/migrate.ts';

/**
 * The tables that every session has from the beginning. The others are made with their first row (`table-maker.ts`).
 *
 * `message.seq` is the place in the conversation: `messageStride` apart, so that the results of a turn's calls have
 * their places behind it whatever order they come in; `stored` is that order. A long body is split over `part`s: a row
 * may hold 2 MB. One that was `replaced` is kept, but no model is sent it (2: but a copy of it);
 * `cost` is the cost of the request to the model that wrote it. `message_name` has the ids that senders gave their
 * messages, and `output` the results that a message holds cut.
 *
 * `session.user` is the person whose session it is, and `created_by` who created it: actors are JSON. `imported` is 1 if
 * its history came from an import.
 *
 * `session.summary` is the place of the newest summary, which a model is sent instead of what is in front of it;
 * `token_key` signs the tokens that open the session; `client_tools` are those of the client that it runs with now. While
 * it is `importing`, the session is not there for anybody.
 *
 * - `call`: how far a call of a turn has come, and a hash of its arguments. `resume` is what its tool keeps with the
 *   question, if it takes the answer, and `answer` is that answer. `input` has the arguments that a person put in the place
 *   of the model's. `decision` is what a person has decided about the call of a child, and `decided_by` who decided, as JSON.
 *   `inbound` says where the answer came from.
 * - `delivery`: a request with an `Idempotency-Key`, or a webhook (`body` is a hash of it), and the run that it began, or
 *   the place of its message in the queue (`waiting`), if any.
 * - `queue`: the messages that wait for a run to end.
 * - `spending`: each request to a model, and the sum up to it. While it is not `settled`, the row has what is set aside, and
 *   the sum before it. A message that came of it has its cost then, and no row says so once more. `input_tokens` and
 *   `input_usd` are estimates of its input; `output_usd` is the price of a token of its output, and
 *   `units_usd` the estimate of searches, containers and files. `lease` is the first
 *   request of its lease, of which the ledger has to be told where `owed` is not 0. The ledger knew of all leases up to
 *   that of the request `told` when the row was stored. `embedding` is 1 for a request for vectors, `thinks` for one
 *   whose model may think without showing it, `unpriced` for one whose price nobody knows.
 * - `callback`: who has to be told of a run's end. `outbox`: what the owner's ledger and list could not be told at once, and
 *   what nobody needs in the bucket. `session.listed_at` is when the session was last active without a run.
 * - `token`: the tokens that open the session.
 * - `run.tail`: how the run ended. `run.listed_at` is the newest activity that the owner's list had been told of then.
 *   `run.recalled` has the sources of what a model is told in front of the run's message.
 * - `token`: the tokens that open the session. `holder` is who has it, if that was said, `made_by` who made it.
 * - `run.tail`: how the run ended.
 * - `state`: what tools of the session remember.
 * - `file`: the paths of the workspace, and their folders, which have no content.
 * - `content`: what files hold or held: never changed, and gone when neither a file nor the journal needs it (`refs`). Its
 *   bytes are `piece`s, or in the bucket under `bucket_key`. `mark` has the places of every 256th line.
 * - `change`: the journal of the workspace, a row for each file of a change. `recall`: the results of changes of the
 *   newest turn's calls. `note`: what tools keep beside the files.
 * - `workspace`: one row, with how much there is and the last numbers.
 * - `child`: the sessions that work for calls of this one. `budget` is what each may spend, which is set aside until it is
 *   known what it cost (`tokens`, `usd`). One in the `background` tells by itself what came of it: 1; or, where nobody
 *   wants to know any more, 0. `session.parent` is the session that this one works for.
 * - `waiting_call`: the calls from outside of runs that wait for a person, and a hash of their arguments.
 */
export const usualTables = `
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, model TEXT, metadata TEXT, created_at INTEGER NOT NULL,
		owner TEXT NOT NULL, budget TEXT, expires_after INTEGER, title TEXT, summary INTEGER NOT NULL DEFAULT 0,
		token_key TEXT, client_tools TEXT, listed_at INTEGER, importing INTEGER, parent TEXT, user TEXT,
		created_by TEXT, imported INTEGER
	) WITHOUT ROWID;
	CREATE TABLE run (
		n INTEGER PRIMARY KEY, id TEXT NOT NULL, status TEXT NOT NULL, model TEXT, stop_after INTEGER,
		max_output_tokens INTEGER, tool_choice TEXT, terms TEXT, boot TEXT NOT NULL, attempt INTEGER NOT NULL,
		lost INTEGER NOT NULL DEFAULT 0, progress INTEGER NOT NULL DEFAULT 0, restarts INTEGER NOT NULL DEFAULT 0,
		draft TEXT, first_seq INTEGER NOT NULL, tail TEXT, created_at INTEGER NOT NULL, ended_at INTEGER,
		listed_at INTEGER, recalled TEXT
	) WITHOUT ROWID;
	CREATE TABLE message (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, run INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, replaced INTEGER NOT NULL DEFAULT 0, cost TEXT, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE spending (
		call INTEGER PRIMARY KEY, run INTEGER NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
		total_tokens INTEGER NOT NULL, total_usd REAL NOT NULL, settled INTEGER NOT NULL, owed INTEGER NOT NULL,
		created_at INTEGER NOT NULL, input_tokens INTEGER NOT NULL, input_usd REAL NOT NULL, output_usd REAL NOT NULL,
		lease INTEGER, told INTEGER NOT NULL DEFAULT 0, embedding INTEGER, thinks INTEGER, units_usd REAL,
		unpriced INTEGER
	) WITHOUT ROWID;
`;

/**
 * The tables that few sessions need. A session that lacks one reads it as empty. A migration of one is an entry of one
 * statement, which does nothing where the table is missing.
 */
export const rareTables = `
	CREATE TABLE output (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE call (
		turn INTEGER NOT NULL, call TEXT NOT NULL, state TEXT NOT NULL, asked INTEGER NOT NULL, arguments TEXT NOT NULL,
		question TEXT, created_at INTEGER NOT NULL, resume TEXT, answer TEXT, input TEXT, decision TEXT, decided_by TEXT,
		inbound TEXT, PRIMARY KEY (turn, call)
	) WITHOUT ROWID;
	CREATE INDEX call_asked ON call (call) WHERE asked = 1;
	CREATE TABLE delivery (
		key TEXT PRIMARY KEY, request TEXT NOT NULL, run INTEGER, waiting INTEGER, created_at INTEGER NOT NULL, body TEXT
	) WITHOUT ROWID;
	CREATE INDEX delivery_body ON delivery (body) WHERE body IS NOT NULL;
	CREATE TABLE queue (
		id INTEGER NOT NULL, part INTEGER NOT NULL, steers INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (id, part)
	) WITHOUT ROWID;
	CREATE TABLE callback (
		id TEXT PRIMARY KEY, run INTEGER NOT NULL, run_id TEXT NOT NULL, url TEXT NOT NULL, failed INTEGER NOT NULL,
		due_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE token (
		id TEXT PRIMARY KEY, key_id TEXT NOT NULL, scopes TEXT NOT NULL, is_first INTEGER NOT NULL, expires_at INTEGER NOT NULL,
		holder TEXT, made_by TEXT
	) WITHOUT ROWID;
	CREATE TABLE outbox (
		id TEXT PRIMARY KEY, body TEXT NOT NULL, failed INTEGER NOT NULL, due_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
	CREATE TABLE file (path TEXT PRIMARY KEY, folder TEXT NOT NULL, content INTEGER) WITHOUT ROWID;
	CREATE INDEX file_folder ON file (folder, path);
	CREATE TABLE content (
		id INTEGER PRIMARY KEY, size INTEGER NOT NULL, lines INTEGER, bucket_key TEXT, refs INTEGER NOT NULL,
		modified_at INTEGER NOT NULL
	);
	CREATE TABLE piece (
		content INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (content, part)
	) WITHOUT ROWID;
	CREATE TABLE mark (
		content INTEGER NOT NULL, part INTEGER NOT NULL, places BLOB NOT NULL, PRIMARY KEY (content, part)
	) WITHOUT ROWID;
	CREATE TABLE change (
		change INTEGER NOT NULL, place INTEGER NOT NULL, step TEXT, call TEXT, path TEXT NOT NULL, before INTEGER,
		after INTEGER, kind TEXT, moved_from TEXT, undone INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL,
		PRIMARY KEY (change DESC, place)
	) WITHOUT ROWID;
	CREATE TABLE recall (
		step TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (step, part)
	) WITHOUT ROWID;
	CREATE TABLE note (
		key TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (key, part)
	) WITHOUT ROWID;
	CREATE TABLE workspace (
		one INTEGER PRIMARY KEY, files INTEGER NOT NULL, bytes INTEGER NOT NULL, kept_bytes INTEGER NOT NULL,
		changes INTEGER NOT NULL, last_change INTEGER NOT NULL, last_content INTEGER NOT NULL
	);
	CREATE TABLE waiting_call (
		id TEXT PRIMARY KEY, call TEXT NOT NULL, waits_for TEXT NOT NULL, hash TEXT NOT NULL, resume TEXT,
		created_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE child (
		turn INTEGER NOT NULL, call TEXT NOT NULL, id TEXT NOT NULL, agent TEXT NOT NULL, budget TEXT,
		tokens INTEGER, usd REAL, created_at INTEGER NOT NULL, background INTEGER, PRIMARY KEY (turn, call)
	) WITHOUT ROWID;
	CREATE INDEX content_bucket ON content (size) WHERE bucket_key IS NOT NULL;
	CREATE TABLE message_name (
		name TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (name, seq)
	) WITHOUT ROWID;
`;

export const schema: Schema = { tables: usualTables + rareTables, migrations: [] };

/** The tables that stay when a session is removed: its outbox, and those of the platform. */
export const keptTables = /^(outbox|schema_version|_cf_.*|sqlite_.*)$/;
