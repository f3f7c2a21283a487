/**
 * The tables of a session, one entry a version. Never change an entry that was released: append the next.
 *
 * `message.seq` is the place in the conversation: `messageStride` apart, so that the results of a turn's calls have
 * their places behind it whatever order they come in; `stored` is that order. A long body is split over `part`s: a row
 * may hold 2 MB. One that was `replaced` is kept, but no model is sent it (2: but a copy of it); `client` is the id that
 * its sender gave it. `output` has the results that the message holds cut.
 *
 * `session.summary` is the place of the newest summary, which a model is sent instead of what is in front of it;
 * `token_key` signs the tokens that open the session, and is made with the first of them; `client_tools` are those of
 * the client that it runs with now.
 *
 * `call` holds how far a call of a turn has come, and a hash of its arguments; `delivery` which request came under which
 * `Idempotency-Key`, or which webhook (`body`: a hash of it), and the run that it began or the place of its message in the queue (`waiting`), if any;
 * `queue` the messages that wait for a run to end; `spending` what each request to a model cost, and the sum up to it (`input_tokens`, `input_usd`: what it sends,
 * estimated; `output_usd`: the price of a token of its answer); `callback` who is to be told of a run's end,
 * and was not yet; `token` who holds a token of the session: what is not there opens nothing; `outbox` what the owner's
 * ledger and list are to be told, and were not yet. `session.listed_at` is when the list was last told.
 */
export const migrations: readonly string[] = [
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
	`ALTER TABLE session ADD COLUMN owner TEXT NOT NULL DEFAULT 'local';
	ALTER TABLE session ADD COLUMN budget TEXT;
	ALTER TABLE session ADD COLUMN expires_after INTEGER;
	ALTER TABLE session ADD COLUMN title TEXT;
	ALTER TABLE session ADD COLUMN summary INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE run ADD COLUMN model TEXT;
	ALTER TABLE run ADD COLUMN stop_after INTEGER;
	ALTER TABLE run ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE run ADD COLUMN taken_up_at INTEGER;
	ALTER TABLE run ADD COLUMN stalled_at INTEGER;
	ALTER TABLE run ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE run ADD COLUMN draft TEXT;
	ALTER TABLE run ADD COLUMN journaled INTEGER NOT NULL DEFAULT 0;
	CREATE TABLE call (
		turn INTEGER NOT NULL, call TEXT NOT NULL, state TEXT NOT NULL, asked INTEGER NOT NULL, arguments TEXT NOT NULL,
		question TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (turn, call)
	) WITHOUT ROWID;
	CREATE INDEX call_asked ON call (call) WHERE asked = 1;
	INSERT INTO call SELECT turn, json_quote(call), 'allowed', 1, arguments, NULL, created_at FROM approval;
	DROP TABLE approval;
	CREATE TABLE output (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE queue (
		id INTEGER NOT NULL, part INTEGER NOT NULL, steers INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (id, part)
	) WITHOUT ROWID;
	CREATE TABLE spending (
		call INTEGER PRIMARY KEY, run INTEGER NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
		total_tokens INTEGER NOT NULL, total_usd REAL NOT NULL, settled INTEGER NOT NULL, owed INTEGER NOT NULL,
		created_at INTEGER NOT NULL
	) WITHOUT ROWID;`,
	`ALTER TABLE session ADD COLUMN token_key TEXT;
	ALTER TABLE session ADD COLUMN client_tools TEXT;
	ALTER TABLE run ADD COLUMN max_output_tokens INTEGER;
	ALTER TABLE run ADD COLUMN tool_choice TEXT;
	ALTER TABLE message ADD COLUMN replaced INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE message ADD COLUMN client TEXT;
	CREATE INDEX message_client ON message (client) WHERE client IS NOT NULL;
	CREATE TABLE callback (
		id TEXT PRIMARY KEY, run INTEGER NOT NULL, run_id TEXT NOT NULL, url TEXT NOT NULL, failed INTEGER NOT NULL,
		due_at INTEGER NOT NULL
	) WITHOUT ROWID;`,
	`ALTER TABLE spending ADD COLUMN input_tokens INTEGER;
	ALTER TABLE spending ADD COLUMN input_usd REAL NOT NULL DEFAULT 0;
	ALTER TABLE spending ADD COLUMN output_usd REAL NOT NULL DEFAULT 0;`,
	`ALTER TABLE run ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;`,
	`CREATE TABLE token (
		id TEXT PRIMARY KEY, key_id TEXT NOT NULL, scopes TEXT NOT NULL, is_first INTEGER NOT NULL, expires_at INTEGER NOT NULL
	) WITHOUT ROWID;`,
	`ALTER TABLE run ADD COLUMN terms TEXT;`,
	`ALTER TABLE session ADD COLUMN listed_at INTEGER;
	CREATE TABLE outbox (
		id TEXT PRIMARY KEY, body TEXT NOT NULL, failed INTEGER NOT NULL, due_at INTEGER NOT NULL
	) WITHOUT ROWID;
	INSERT INTO outbox SELECT 'ledger ' || run.id || '.' || spending.call, json_object(
		'to', 'ledger', 'owner', session.owner, 'call', run.id || '.' || spending.call,
		'amount', json_object('tokens', spending.tokens, 'usd', spending.usd)
	), 0, 0 FROM spending JOIN run ON run.n = spending.run JOIN session WHERE spending.settled = 1 AND spending.owed = 1;`,
	`ALTER TABLE delivery ADD COLUMN body TEXT;
	CREATE INDEX delivery_body ON delivery (body) WHERE body IS NOT NULL;`,
	`CREATE TABLE taken (
		key TEXT PRIMARY KEY, request TEXT NOT NULL, run INTEGER, waiting INTEGER, created_at INTEGER NOT NULL, body TEXT
	);
	INSERT INTO taken SELECT
		key, request, CASE WHEN run > 0 THEN run END, CASE WHEN run < 0 THEN -run END, created_at, body
	FROM delivery;
	DROP TABLE delivery;
	ALTER TABLE taken RENAME TO delivery;
	CREATE INDEX delivery_body ON delivery (body) WHERE body IS NOT NULL;`,
];
