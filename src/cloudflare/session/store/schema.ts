import type { Schema } from '../../objects/migrate.ts';

/**
 * The tables that every session has from the beginning. `makeTables` creates the others with their first row. Actors,
 * questions and the like are JSON.
 *
 * `message.seq` is the place in the conversation. Turns are `messageStride` apart, so that the results of a turn's
 * calls fit between them, in any order. `stored` is the order of storing. A long body has several `part`s, because a
 * row holds at most 2 MB. A `replaced` message is kept, but no model gets it (2: a model gets a copy). `cost` is the
 * cost of the request that wrote the message. `message_name` has the ids from senders. `output` has the whole results
 * of shortened messages.
 *
 * `session.user` is the person of the session, `imported` is 1 for an imported history. A model gets the newest
 * `summary` instead of the messages before it. `token_key` signs the session's tokens, `client_tools` are the tools of
 * the current client. A session does not exist for anybody while it is `importing`: 1, or how far the import is, as JSON. `listed_at` is the session's last
 * activity outside of a run. `rerun` is the run that the session runs again. `cleared` has the labels that people
 * took back, `labels` what the older messages brought in. `shards` is the number of the owner's shards at the creation,
 * and `shards_of_all` the number of shards of the list of all owners when it got the session. It is NULL before.
 * `used_at` is when somebody opened the session, if it can be archived. `left_by_calls` is when calls without a run
 * last left something in files or the state, by label.
 *
 * - `call`: the state of a call and a hash of its arguments. `resume` is the data of a tool that takes the answer
 *   itself. `input` are the edited arguments, `decision` is the decision about the call of a child, `decided_by` its
 *   author, `inbound` the origin of the answer.
 * - `delivery`: a request with an `Idempotency-Key`, or a webhook with the hash of its `body`. The row also has the
 *   request's run, or the queue id of its message (`waiting`).
 * - `queue`: the messages that wait for a run to end.
 * - `spending`: a request to a model, with the total of all requests so far. Until it is `settled`, the row has the
 *   reservation, and the total does not include it. If a request has a message, its cost is in the message row.
 *   `input_tokens` and `input_usd` are estimates, `output_usd` is the price of an output token, `units_usd` the
 *   estimate of searches, containers and files. `lease` is the number of the lease's first request. The ledger gets the
 *   lease if `owed` is not 0. When the row was stored, the ledger knew all leases up to the request `told`. `embedding`
 *   is 1 for a request for vectors, `thinks` for a model that can hide its thinking, `unpriced` for an unknown price.
 * - `callback`: the URLs that get the end of a run. `outbox`: the messages to other objects that were not delivered.
 * - `token`: the tokens that open the session, with their `holder` and their maker.
 * - `run.tail`: the end of the run. `run.listed_at` is the newest activity that the owner's list had at that time.
 *   `run.recalled` has the sources of the memories before the run's message. `run.exported` is the newest run whose trace
 *   was exported at that time, `run.origin` the request that began the run.
 * - `state`: the state of tools.
 * - `file`: the paths of the workspace. A folder has no content.
 * - `content`: a content of a file. It never changes. It is removed when no file and no journal entry refers to it
 *   (`refs`). Its bytes are `piece`s, or in the bucket under `bucket_key`. The content 0 is a file that an import receives. `mark` has the position of every 256th line.
 * - `change`: the journal of the workspace, a row for each file of a change. `recall`: the results of the newest turn's
 *   changes. `note`: the data of tools about files.
 * - `workspace`: one row with the totals and the last ids.
 * - `child`: a session that works for a call. `budget` is reserved until its cost is known (`tokens`, `usd`).
 *   `background` is 1 for a child that reports its end by itself, and 0 if nobody needs the report any more.
 * - `waiting_call`: the calls from outside of runs that wait for a person, with a hash of their arguments.
 */
export const usualTables = `
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, model TEXT, metadata TEXT, created_at INTEGER NOT NULL,
		owner TEXT NOT NULL, budget TEXT, expires_after INTEGER, title TEXT, summary INTEGER NOT NULL DEFAULT 0,
		token_key TEXT NOT NULL, client_tools TEXT, listed_at INTEGER, importing INTEGER, parent TEXT, user TEXT,
		created_by TEXT, imported INTEGER, rerun TEXT, cleared TEXT, labels TEXT, shards INTEGER, shards_of_all INTEGER,
		used_at INTEGER, left_by_calls TEXT
	) WITHOUT ROWID;
	CREATE TABLE run (
		n INTEGER PRIMARY KEY, id TEXT NOT NULL, status TEXT NOT NULL, model TEXT, stop_after INTEGER,
		max_output_tokens INTEGER, tool_choice TEXT, terms TEXT, boot TEXT NOT NULL, attempt INTEGER NOT NULL,
		lost INTEGER NOT NULL DEFAULT 0, progress INTEGER NOT NULL DEFAULT 0, restarts INTEGER NOT NULL DEFAULT 0,
		draft TEXT, first_seq INTEGER NOT NULL, tail TEXT, created_at INTEGER NOT NULL, ended_at INTEGER,
		listed_at INTEGER, recalled TEXT, exported INTEGER, origin TEXT
	) WITHOUT ROWID;
	CREATE TABLE message (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, run INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, replaced INTEGER NOT NULL DEFAULT 0, cost TEXT, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE spending (
		call INTEGER PRIMARY KEY, run INTEGER NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
		total_tokens INTEGER NOT NULL, total_usd REAL NOT NULL, settled INTEGER NOT NULL, owed INTEGER NOT NULL,
		created_at INTEGER NOT NULL, input_tokens INTEGER NOT NULL, input_usd REAL NOT NULL, output_usd REAL NOT NULL,
		lease INTEGER NOT NULL, told INTEGER NOT NULL DEFAULT 0, embedding INTEGER, thinks INTEGER, units_usd REAL,
		unpriced INTEGER
	) WITHOUT ROWID;
`;

/**
 * The tables that few sessions need. A missing table reads as empty. To migrate such a table, add a migration
 * with one statement. The statement does nothing if the table is missing.
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

export const schema: Schema = {
	tables: usualTables + rareTables,
	migrations: [
		`ALTER TABLE session ADD COLUMN rerun TEXT;
		ALTER TABLE run ADD COLUMN exported INTEGER;
		ALTER TABLE run ADD COLUMN origin TEXT;`,
		`ALTER TABLE session ADD COLUMN cleared TEXT;
		ALTER TABLE session ADD COLUMN labels TEXT;`,
		'ALTER TABLE session ADD COLUMN shards INTEGER;',
		'ALTER TABLE session ADD COLUMN shards_of_all INTEGER;',
		'ALTER TABLE session ADD COLUMN used_at INTEGER;',
		'ALTER TABLE session ADD COLUMN left_by_calls TEXT;',
	],
};

/** The tables that survive the removal of a session: its outbox, and the tables of the platform. */
export const keptTables = /^(outbox|schema_version|_cf_.*|sqlite_.*)$/;
