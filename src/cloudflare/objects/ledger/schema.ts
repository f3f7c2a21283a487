import type { Schema } from '../migrate.ts';

/**
 * The tables of a ledger.
 *
 * A `day` is a number of days since 1970, in UTC, and holds the sums of its leases, so that no sum is made twice. Some of
 * its leases stand in `open`, with what is reserved for each. Each other is a row of `call`, under the day that it was first
 * heard of; its amount is what is reserved, once `settled` what its calls came to. A settled row of a lease that stands in
 * `open`, too, is not in the sums: the next lease takes it out of `open` and adds it. A `past` day is one whose leases are
 * forgotten.
 *
 * `parts` of a day are sums by agent, model and user, in JSON; once there are many they are added to the rows of `part`, where
 * no user is an empty text. `parts` of a call are those of a settled lease that stands in `open`, too.
 *
 * `user_day` has the sums of a user's leases of a day, which are always complete, also of forgotten days. Its `before` is the
 * sum of what is spent and reserved on all earlier days of the user, so that the newest row has the sum of all days. `user_cap`
 * has the caps of each user that has any, in JSON.
 *
 * `alert` has the shares of budgets that were told, each with the limit then. One that is `armed` is told again under a higher
 * limit. A budget of all days has the day 0. `outgoing` has the alerts that are not delivered, and `told` whose ledger it is
 * with the limit of a day, both only where somebody wants alerts.
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
	CREATE INDEX user_day_by_day ON user_day (day DESC);
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
	CREATE TABLE told (one INTEGER PRIMARY KEY, owner TEXT NOT NULL, caps TEXT NOT NULL) WITHOUT ROWID;
`;

export const schema: Schema = { tables, migrations: [] };
