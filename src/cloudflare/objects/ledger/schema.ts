import type { Schema } from '../migrate.ts';

/**
 * The tables of a ledger.
 *
 * A `day` is a number of days since 1970, in UTC, and holds the sums of its leases, so that no sum is made twice. Some of
 * its leases stand in `open`, with what is reserved for each. Each other is a row of `call`, under the day that it was first
 * heard of; its amount is what is reserved, once `settled` what its calls came to. A settled row of a lease that stands in
 * `open`, too, is not in the sums: the next lease takes it out of `open` and adds it. A `past` day is one whose leases are
 * forgotten.
 */
const tables = `
	CREATE TABLE day (
		day INTEGER PRIMARY KEY, spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL, reserved_tokens INTEGER NOT NULL,
		reserved_usd REAL NOT NULL, open TEXT NOT NULL DEFAULT '[]'
	) WITHOUT ROWID;
	CREATE TABLE call (
		day INTEGER NOT NULL, id TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL, settled INTEGER NOT NULL,
		PRIMARY KEY (day, id)
	) WITHOUT ROWID;
	CREATE TABLE past (
		day INTEGER PRIMARY KEY, spent_tokens INTEGER NOT NULL, spent_usd REAL NOT NULL, reserved_tokens INTEGER NOT NULL,
		reserved_usd REAL NOT NULL, open TEXT NOT NULL DEFAULT '[]'
	) WITHOUT ROWID;
`;

/** One entry a version. Never change an entry that was released: append the next, and change `tables` alike. */
const migrations: readonly string[] = [
	`CREATE TABLE day (
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
	) WITHOUT ROWID;`,
	`ALTER TABLE day ADD COLUMN open TEXT NOT NULL DEFAULT '[]'; ALTER TABLE past ADD COLUMN open TEXT NOT NULL DEFAULT '[]';`,
];

export const schema: Schema = { tables, migrations };
