import type { Schema } from '../migrate.ts';

/**
 * The tables of a ledger.
 *
 * A `day` is a number of days since 1970, in UTC, and holds the sums of its leases, so that no sum is made twice. Each is a
 * row of `call`, under the day that it was first heard of; its amount is what is reserved, once `settled` what its calls
 * came to. A `past` day is one whose leases are forgotten.
 */
const tables = `
	CREATE TABLE day (
		day INTEGER PRIMARY KEY, spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL, reserved_tokens INTEGER NOT NULL,
		reserved_usd REAL NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE call (
		day INTEGER NOT NULL, id TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, settled INTEGER NOT NULL,
		PRIMARY KEY (day, id)
	) WITHOUT ROWID;
	CREATE TABLE past (
		day INTEGER PRIMARY KEY, spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL, reserved_tokens INTEGER NOT NULL,
		reserved_usd REAL NOT NULL
	) WITHOUT ROWID;
`;

/**
 * One entry a version. Never change an entry that was released: append the next, and change `tables` alike. Before the
 * second one comes, the first gets a text of its own.
 */
const migrations: readonly string[] = [tables];

export const schema: Schema = { tables, migrations };
