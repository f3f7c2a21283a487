import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { schema as directory } from '../../../src/cloudflare/objects/directory/schema.ts';
import { schema as ledger } from '../../../src/cloudflare/objects/ledger/schema.ts';
import { migrate, readVersion, type Schema } from '../../../src/cloudflare/objects/migrate.ts';
import { schema as publisher } from '../../../src/cloudflare/objects/publisher/schema.ts';
import { schema as session } from '../../../src/cloudflare/session/store/schema.ts';

type SqlStorage = DurableObjectStorage['sql'];

/** Works in the object of a session that has no tables. */
const inObject = <T>(work: (sql: SqlStorage) => T) =>
	runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) =>
		storage.transactionSync(() => work(storage.sql)),
	);

/** A schema as it was at an earlier version. */
const toVersion = ({ migrations }: Schema, version: number): Schema => {
	const then = migrations.slice(0, version);
	return { tables: then.join(' '), migrations: then };
};

describe('migrate', () => {
	const one = 'CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL);';
	const two = "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 1; UPDATE thing SET name = name || '!';";
	const schema = { tables: one.replace(')', ', size INTEGER NOT NULL DEFAULT 1)'), migrations: [one, two] };

	test('runs what is new of a list, once, and keeps the rows', () =>
		inObject((sql) => {
			migrate(sql, toVersion(schema, 1));
			sql.exec("INSERT INTO thing VALUES (1, 'a')");
			for (let again = 0; again < 2; again++) migrate(sql, schema);
			expect(sql.exec('SELECT * FROM thing').toArray()).toEqual([{ id: 1, name: 'a!', size: 1 }]);
			expect(readVersion(sql)).toBe(2);
		}));

	test('makes the tables of a new object at once, without the versions before', () =>
		inObject((sql) => {
			migrate(sql, { ...schema, migrations: ['no SQL', 'nor this'] });
			sql.exec("INSERT INTO thing (name) VALUES ('a')");
			expect(sql.exec('SELECT * FROM thing').toArray()).toEqual([{ id: 1, name: 'a', size: 1 }]);
			expect(readVersion(sql)).toBe(2);
		}));

	test('asks for the version without making a table', () =>
		inObject((sql) => {
			const countTables = () => sql.exec("SELECT count(*) AS tables FROM sqlite_master WHERE type = 'table'").one();
			const before = countTables();
			expect(readVersion(sql)).toBe(0);
			expect(countTables()).toEqual(before);
		}));
});

test.each(Object.entries({ session, ledger, directory, publisher }))(
	'the tables of a new %s are those of one that came through any earlier version',
	async (_, schema) => {
		/** What stands in `sqlite_master` once an object was made, and brought up from there. */
		const readTables = (from: Schema) =>
			inObject((sql) => {
				for (const each of [from, schema]) migrate(sql, each);
				type Row = { name: string; sql: string | null };
				const rows = sql.exec<Row>(
					"SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY name",
				);
				return rows.toArray().map((row) => ({ ...row, sql: row.sql?.replace(/\s*([\s(),])\s*/g, '$1') }));
			});
		const made = await readTables(schema);
		expect(made.length).toBeGreaterThan(1);
		for (const version of schema.migrations.keys())
			expect(await readTables(toVersion(schema, version + 1))).toEqual(made);
	},
);
