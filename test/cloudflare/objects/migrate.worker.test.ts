import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { migrate, readMark } from '../../../src/cloudflare/objects/migrate.ts';

type SqlStorage = DurableObjectStorage['sql'];

/** Runs in the object of a session without tables. */
const inObject = <T>(work: (sql: SqlStorage) => T) =>
	runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) =>
		storage.transactionSync(() => work(storage.sql)),
	);

describe('migrate', () => {
	const one = 'CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL);';
	const two = "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 1; UPDATE thing SET name = name || '!';";
	const first = { tables: one, migrations: [] };
	const second = { tables: one.replace(')', ', size INTEGER NOT NULL DEFAULT 1)'), migrations: [two] };

	test('runs each new migration once, and keeps the rows', () =>
		inObject((sql) => {
			migrate(sql, first);
			sql.exec("INSERT INTO thing VALUES (1, 'a')");
			for (let again = 0; again < 2; again++) migrate(sql, second);
			expect(sql.exec('SELECT * FROM thing').toArray()).toEqual([{ id: 1, name: 'a!', size: 1 }]);
			expect(readMark(sql).version).toBe(2);
		}));

	test('creates the newest tables in a new object, and runs no migration there', () =>
		inObject((sql) => {
			migrate(sql, { ...second, migrations: ['no SQL', 'nor this'] });
			sql.exec("INSERT INTO thing (name) VALUES ('a')");
			expect(sql.exec('SELECT * FROM thing').toArray()).toEqual([{ id: 1, name: 'a', size: 1 }]);
			expect(readMark(sql).version).toBe(3);
		}));

	test('refuses tables of a newer version, and changes nothing', () =>
		inObject((sql) => {
			migrate(sql, second);
			expect(() => migrate(sql, first)).toThrow('have version 2, and this Worker knows 1');
			expect(readMark(sql).version).toBe(2);
		}));

	test('reads the version without creating a table', () =>
		inObject((sql) => {
			const countTables = () => sql.exec("SELECT count(*) AS tables FROM sqlite_master WHERE type = 'table'").one();
			const before = countTables();
			expect(readMark(sql).version).toBe(0);
			expect(countTables()).toEqual(before);
		}));
});
