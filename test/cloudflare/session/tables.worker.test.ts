import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { rareTables, usualTables } from '../../../src/cloudflare/session/store/schema.ts';
import { makeTables } from '../../../src/cloudflare/session/store/tables.ts';
import { allEvents, createSession, querySession, readNextAlarm, readObject, request, send } from '../../client.ts';
import { play } from '../../script.ts';

/** Works with the storage of an object that has no tables. */
const inObject = <T>(work: (storage: DurableObjectStorage) => T) =>
	runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) => work(storage));

const reply = 'A reply of some length. '.repeat(40);

describe('a session of one turn needs at most 32 KB of SQLite', () => {
	const readBytes = (id: string) => runInDurableObject(readObject(id), (_, { storage }) => storage.sql.databaseSize);

	test('if it was created before its first message', async () => {
		const id = await createSession();
		play(reply);
		await allEvents(await send(id, 'go'));
		await expect.poll(() => readNextAlarm(id)).toBeNull();
		const bytes = await readBytes(id);
		console.log(`bytes of a session of one turn: ${bytes}`);
		expect(bytes).toBeLessThanOrEqual(32_768);
	});

	test('if a page creates it with its first message', async () => {
		play(reply);
		const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'go' }] };
		const chunks = await (await request('/v1/ui/scripted', { id: 'chat', messages: [message] })).text();
		const id = /"sessionId":"(\w+)"/.exec(chunks)?.[1] ?? '';
		await expect.poll(() => readNextAlarm(id)).toBeNull();
		expect(await querySession(id, 'SELECT name FROM message_name')).toEqual([{ name: 'm1' }]);
		expect(await readBytes(id)).toBeLessThanOrEqual(32_768);
	});
});

describe('a missing table', () => {
	test('is read as an empty table, and changes to it are ignored', () =>
		inObject((storage) => {
			const { sql } = makeTables(storage, rareTables);
			const read = (query: string, ...values: number[]) => sql.exec(query, ...values).toArray();
			sql.exec(usualTables);
			sql.exec(
				"INSERT INTO run (n, id, status, boot, attempt, first_seq, created_at) VALUES (1, 'r', '', '', 1, 1, 1)",
			);
			expect(read('SELECT * FROM child')).toEqual([]);
			expect(read('SELECT COUNT(*) AS n, MAX(id) AS last FROM queue WHERE id > ?', 1)).toEqual([{ n: 0, last: null }]);
			expect(read('SELECT run.n, url FROM run LEFT JOIN callback ON callback.run = run.n')).toEqual([
				{ n: 1, url: null },
			]);
			expect(read('SELECT path FROM file LEFT JOIN content ON content.id = file.content')).toEqual([]);
			expect(read('DELETE FROM waiting_call WHERE id = ? RETURNING *', 1)).toEqual([]);
			expect(read('UPDATE "outbox" SET failed = ?', 1)).toEqual([]);
			expect(read('DELETE FROM run WHERE n IN (SELECT run FROM callback)')).toEqual([]);
			expect(read('ALTER TABLE child ADD COLUMN more TEXT')).toEqual([]);
			expect(read('CREATE INDEX child_id ON child (id)')).toEqual([]);
			const tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'";
			expect(read(tables).map(({ name }) => name)).toEqual(['session', 'run', 'message', 'spending']);
		}));

	test('is created with its indexes at its first row, and again after a rollback', () =>
		inObject((storage) => {
			const { sql, transactionSync } = makeTables(storage, rareTables);
			const add = () => sql.exec("INSERT INTO file (path, folder) VALUES ('a', '')");
			const list = () => sql.exec('SELECT path FROM file').toArray();
			const fail = () =>
				transactionSync(() => {
					add();
					expect(list()).toEqual([{ path: 'a' }]);
					throw new Error('rolled back');
				});
			for (let again = 0; again < 2; again++) expect(fail).toThrow('rolled back');
			expect(list()).toEqual([]);
			transactionSync(add);
			expect(list()).toEqual([{ path: 'a' }]);
			expect(makeTables(storage, rareTables).sql.exec('SELECT path FROM file').toArray()).toEqual([{ path: 'a' }]);
			const made = sql.exec("SELECT type FROM sqlite_master WHERE tbl_name = 'file' AND sql IS NOT NULL").toArray();
			expect(made).toEqual([{ type: 'table' }, { type: 'index' }]);
		}));

	test('is created again after everything was removed', () =>
		inObject(async (storage) => {
			const tables = makeTables(storage, rareTables);
			const add = () => tables.sql.exec("INSERT INTO state (key, value) VALUES ('a', '1')");
			add();
			await tables.deleteAll();
			add();
			expect(tables.sql.exec('SELECT key FROM state').toArray()).toEqual([{ key: 'a' }]);
		}));
});
