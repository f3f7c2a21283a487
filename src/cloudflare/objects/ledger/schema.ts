import type { Schema } from '../migrate.ts';

const share = `
	CREATE TABLE share (
		day INTEGER NOT NULL, shard TEXT NOT NULL, n INTEGER NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
		spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL, PRIMARY KEY (day, shard)
	) WITHOUT ROWID;
`;

/**
 * The tables of a ledger. Days are UTC days since 1970.
 *
 * A `day` has the sums of its leases. Its newest leases are in `open`, as JSON, each with its reservation. Other leases
 * are rows of `call`, under their first day, with the reservation, or with the cost if `settled`. A settled row of a
 * lease in `open` is not in the sums yet: the next lease adds it. A day in `past` has no leases.
 *
 * `parts` of a day are sums by agent, model and user, as JSON. If there are many, they move to rows of `part`, where
 * an empty text means no user. `parts` of a call are the parts of a settled lease that is still in `open`.
 *
 * `user_day` has the sums of a user's leases. `before` is the sum of all earlier days of the user, spent and reserved,
 * so that the newest row has the total. `user_cap` has caps as JSON.
 *
 * `share` has the shares of a day's budget that shards may spend: in the owner's ledger of all shards, in a shard its own.
 * A `user_day` of day 0 is what a user of a shard spent before the owner had shards.
 *
 * `alert` has the announced shares of budgets with their limits. An `armed` share is announced again under a higher
 * limit. Day 0 is the budget of all days. `outgoing` has alerts that wait for delivery. `watched` has the owner and
 * the limit of a day. Both are empty if alerts have no receivers.
 */
const tables = `
	CREATE TABLE day (
		day INTEGER PRIMARY KEY, spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL, reserved_tokens INTEGER NOT NULL,
		reserved_usd REAL NOT NULL, open TEXT NOT NULL DEFAULT '[]', parts TEXT NOT NULL DEFAULT '[]'
	) WITHOUT ROWID;
	CREATE TABLE call (
		day INTEGER NOT NULL, id TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, settled INTEGER NOT NULL,
		user TEXT, parts TEXT, PRIMARY KEY (day, id)
	) WITHOUT ROWID;
	CREATE TABLE past (
		day INTEGER PRIMARY KEY, spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL, reserved_tokens INTEGER NOT NULL,
		reserved_usd REAL NOT NULL, open TEXT NOT NULL DEFAULT '[]', parts TEXT NOT NULL DEFAULT '[]'
	) WITHOUT ROWID;
	CREATE TABLE user_day (
		user TEXT NOT NULL, day INTEGER NOT NULL, spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL,
		reserved_tokens INTEGER NOT NULL, reserved_usd REAL NOT NULL, before_tokens INTEGER NOT NULL, before_usd REAL NOT NULL,
		PRIMARY KEY (user, day)
	) WITHOUT ROWID;
	CREATE TABLE user_cap (user TEXT PRIMARY KEY, caps TEXT NOT NULL) WITHOUT ROWID;
	CREATE TABLE part (
		day INTEGER NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, user TEXT NOT NULL, tokens INTEGER NOT NULL,
		usd REAL NOT NULL, unpriced INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL, units TEXT,
		PRIMARY KEY (day, agent, model, user)
	) WITHOUT ROWID;
	CREATE TABLE alert (
		day INTEGER NOT NULL, scope TEXT NOT NULL, user TEXT NOT NULL, percent INTEGER NOT NULL, caps TEXT NOT NULL,
		armed INTEGER NOT NULL, PRIMARY KEY (day, scope, user, percent)
	) WITHOUT ROWID;
	CREATE TABLE outgoing (
		id TEXT PRIMARY KEY, receiver TEXT NOT NULL, body TEXT NOT NULL, failed INTEGER NOT NULL, due_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE watched (one INTEGER PRIMARY KEY, owner TEXT NOT NULL, caps TEXT NOT NULL) WITHOUT ROWID;
	${share}
`;

export const schema: Schema = { tables, migrations: ['DROP INDEX user_day_by_day', share] };
