/** Objects that the first version of Runlet stored go on with the tables of this one. */
import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { schema as directorySchema } from '../../../src/cloudflare/objects/directory/schema.ts';
import { migrate, type Schema } from '../../../src/cloudflare/objects/migrate.ts';
import { schema as sessionSchema } from '../../../src/cloudflare/session/store/schema.ts';
import { allEvents, createSession, readHistory, readObject, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';
import directory from './first/directory.sql?raw';
import session from './first/session.sql?raw';

type Sql = DurableObjectStorage['sql'];

const inObject = <T>(work: (sql: Sql) => T) =>
	runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), async (_, { storage }) =>
		storage.transactionSync(() => work(storage.sql)),
	);

/** The columns and the indexes of all tables, in their alphabetical order. */
function readTables(sql: Sql) {
	const named = "SELECT name FROM sqlite_master WHERE type IN ('table', 'index') AND name NOT LIKE '\\_%' ESCAPE '\\'";
	return sql
		.exec<{ name: string }>(`${named} ORDER BY name`)
		.toArray()
		.map(({ name }) => ({ name, columns: sql.exec('SELECT * FROM pragma_table_xinfo(?)', name).toArray() }));
}

describe.each<[string, string, Schema]>([
	['session', session, sessionSchema],
	['directory', directory, directorySchema],
])('the object of a %s', (_, first, schema) => {
	test('has the columns of a new object after its migration', async () => {
		const made = await inObject((sql) => {
			migrate(sql, schema);
			return readTables(sql);
		});
		const migrated = await inObject((sql) => {
			migrate(sql, { tables: first, migrations: [] });
			migrate(sql, schema);
			return readTables(sql);
		});
		expect(migrated).toEqual(made);
	});
});

test('a session of the first version answers the next message', async () => {
	const id = await createSession();
	play('One.');
	await allEvents(await send(id, 'Hello.'));
	await runInDurableObject(readObject(id), (_, { storage }) =>
		storage.transactionSync(() => {
			const added = [
				'session DROP COLUMN rerun',
				'session DROP COLUMN cleared',
				'session DROP COLUMN labels',
				'session DROP COLUMN shards',
				'session DROP COLUMN shards_of_all',
				'session DROP COLUMN used_at',
				'session DROP COLUMN left_by_calls',
			];
			for (const column of [...added, 'run DROP COLUMN exported', 'run DROP COLUMN origin'])
				storage.sql.exec(`ALTER TABLE ${column}`);
			storage.sql.exec('DROP VIEW schema_version; CREATE VIEW schema_version AS SELECT 1 AS version');
		}),
	);
	await restart(id);
	play('Two.');
	expect(await (await request(`/v1/sessions/${id}/messages`, { text: 'Again.' })).json()).toMatchObject({
		text: 'Two.',
	});
	expect((await readHistory(id)).map(({ content }) => content)).toEqual(['Hello.', 'One.', 'Again.', 'Two.']);
});
