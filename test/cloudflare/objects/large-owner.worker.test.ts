/** What a turn asks of the objects of its owner reads as many rows for a large owner as for a small one. */
import { env, runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { request } from '../../client.ts';
import { countWork } from '../../rows.ts';
import { play } from '../../script.ts';

const objects = {
	directory: () => env.DIRECTORIES.get(env.DIRECTORIES.idFromName('local')),
	ledger: () => env.LEDGERS.get(env.LEDGERS.idFromName('local')),
};

/** The columns that make a repeated row unique, in each table that grows with an owner. */
const keys: Readonly<Record<keyof typeof objects, Readonly<Record<string, string>>>> = {
	directory: {
		session: 'id',
		sent: 'request',
		waiting: 'session',
		schedule: 'target',
		feedback: 'session',
		entry: 'name',
	},
	ledger: { call: 'id', user_day: 'user', user_cap: 'user' },
};

/** Repeats the rows of a table. */
function repeat(sql: SqlStorage, table: string, key: string, times: number): void {
	const columns = sql
		.exec<{ name: string }>('SELECT name FROM pragma_table_info(?)', table)
		.toArray()
		.map(({ name }) => name);
	const values = columns.map((name) => (name === key ? `${name} || '-' || number.k` : name));
	sql.exec(
		`WITH RECURSIVE number (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM number WHERE k < ${times})
		INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM ${table}, number`,
	);
}

/** Makes the owner larger by so many copies of each row. */
async function grow(times: number): Promise<void> {
	for (const name of ['directory', 'ledger'] as const)
		await runInDurableObject(objects[name](), (_, { storage }) =>
			storage.transactionSync(() => {
				for (const [table, key] of Object.entries(keys[name])) repeat(storage.sql, table, key, times);
			}),
		);
}

const count = (name: keyof typeof objects, table: string) =>
	runInDurableObject(
		objects[name](),
		(_, { storage }) => storage.sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`).one().n,
	);

const call = (name: string, input: object, id: string) => ({ toolCalls: [{ id, name, input }] });

/** Leaves a session with feedback and a schedule, whose call waits for a person. */
async function leaveSession(): Promise<void> {
	play('Hello.', call('pay', { amount: 1 }, 'p'));
	const begun = await request('/v1/sessions', { agent: 'scripted', user: 'ada', text: 'Hello.' });
	const { id, runId } = await begun.json<{ id: string; runId: string }>();
	await request(`/v1/sessions/${id}/runs/${runId}/feedback`, { rating: 'up' }, {}, 'PUT');
	await request('/v1/schedules', { session: id, name: 'look', text: 'Look.', every: '1d' });
	await request(`/v1/sessions/${id}/messages`, { text: 'Pay.' }, { 'idempotency-key': crypto.randomUUID() });
	const lists = async () =>
		JSON.stringify(
			await Promise.all(
				['approvals', 'feedback', 'sessions'].map(async (path) => (await request(`/v1/${path}`)).json()),
			),
		);
	await expect.poll(async () => (await lists()).split(id).length).toBeGreaterThanOrEqual(4);
}

/** Does what turns, people and lists do. Returns how many rows each statement reads in the objects of the owner. */
async function tour(): Promise<ReadonlyMap<string, number>> {
	const work = countWork();
	play(call('pay', { amount: 1 }, 'p'));
	const named = { agent: 'scripted', user: 'bob' };
	const begun = await request('/v1/sessions', { ...named, text: 'Pay.' }, { 'idempotency-key': crypto.randomUUID() });
	const { id } = await begun.json<{ id: string }>();
	const list = async (path: string) => expect((await request(path)).status, path).toBe(200);
	await expect
		.poll(async () => JSON.stringify(await (await request('/v1/approvals?limit=10&user=bob')).json()))
		.toContain(id);
	play('Paid.');
	const ended = await request(`/v1/sessions/${id}/tool-results`, [{ id: 'p', approve: true }]);
	const { runId } = await ended.json<{ runId: string }>();
	await request(`/v1/sessions/${id}/runs/${runId}/feedback`, { rating: 'up' }, {}, 'PUT');
	await request('/v1/schedules', { session: id, name: 'look', text: 'Look.', every: '1d' });
	for (const path of ['/v1/sessions?limit=10', '/v1/sessions?limit=10&user=ada', '/v1/feedback?limit=10'])
		await list(path);
	await list('/v1/approvals?limit=10');
	await list('/v1/usage');
	await list('/v1/usage?user=bob');
	await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE');
	await runInDurableObject(objects.directory(), (instance) => Reflect.get(instance, 'alarm')?.call(instance));
	const read = new Map<string, number>();
	for (const [name, find] of Object.entries(objects)) {
		const object = find();
		const done = await runInDurableObject(object, () => work(object.id.toString()));
		for (const { what, read: rows } of done) read.set(`${name}: ${what}`, (read.get(`${name}: ${what}`) ?? 0) + rows);
	}
	return read;
}

test('no statement of an owner reads more rows because the owner has more sessions, leases or schedules', async () => {
	await leaveSession();
	await tour();
	const small = await tour();
	await grow(3_000);
	const large = await tour();
	for (const table of ['session', 'waiting', 'schedule', 'feedback'])
		expect(await count('directory', table), table).toBeGreaterThan(3_000);
	expect(await count('ledger', 'user_day')).toBeGreaterThan(3_000);
	const growing = [...large].filter(([what, rows]) => rows > (small.get(what) ?? 0) + 300);
	expect(growing.map(([what, rows]) => `${small.get(what)} -> ${rows}: ${what.replace(/\s+/g, ' ')}`)).toEqual([]);
});
