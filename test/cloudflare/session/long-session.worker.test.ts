/** A request reads as many rows in a long session as in a short one. */
import { runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { messageStride } from '../../../src/cloudflare/session/store/messages.ts';
import { createSession, readObject, request, restart } from '../../client.ts';
import { countWork } from '../../rows.ts';
import { play } from '../../script.ts';

/** How much each column of a repeated row grows, in each table that grows with a session. `id` becomes unique. */
const grows: Readonly<Record<string, Readonly<Record<string, number>>>> = {
	run: { n: 1, first_seq: 4 * messageStride },
	message: { seq: 4 * messageStride, stored: 4 * messageStride, run: 1 },
	spending: { call: 4, run: 1, lease: 4, told: 4 },
	call: { turn: 4 * messageStride },
	delivery: { run: 1 },
	change: { change: 1 },
};

/** Repeats the run of a session, with everything that belongs to it. */
function repeatRun(sql: SqlStorage, times: number): void {
	for (const [table, growing] of Object.entries(grows)) {
		const columns = sql
			.exec<{ name: string }>('SELECT name FROM pragma_table_info(?)', table)
			.toArray()
			.map(({ name }) => name);
		if (columns.length === 0) continue;
		const values = columns.map((name) => {
			if (name in growing) return `${name} + number.k * ${growing[name]}`;
			return (table === 'run' && name === 'id') || name === 'key' ? `${name} || '-' || number.k` : name;
		});
		sql.exec(
			`WITH RECURSIVE number (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM number WHERE k < ${times})
			INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM ${table}, number`,
		);
	}
}

const call = (name: string, input: object, id: string) => ({ toolCalls: [{ id, name, input }] });

/** Returns how many rows each statement reads, in a session with so many runs. */
async function tour(runs: number): Promise<ReadonlyMap<string, number>> {
	const id = await createSession('long-lived');
	const say = (text: string, more = {}) => request(`/v1/sessions/${id}/messages`, { text }, more);
	play(call('write_file', { path: 'a.txt', content: 'One.' }, 'w'), 'Written.');
	await say(`Write. ${'word '.repeat(100)}`, { 'idempotency-key': 'first' });
	await runInDurableObject(readObject(id), (_, { storage }) =>
		storage.transactionSync(() => repeatRun(storage.sql, runs)),
	);
	await restart(id);
	// The first request after that reads the labels of all messages, and stores them.
	await request(`/v1/sessions/${id}`);
	await restart(id);
	const work = countWork(id);
	play(call('echo', { text: 'Hi.' }, 'e'), call('pay', { amount: 1 }, 'p'));
	await say('Go on.', { 'idempotency-key': 'second' });
	play('Paid.');
	await request(`/v1/sessions/${id}/tool-results`, [{ id: 'p', approve: true }]);
	await request(`/v1/sessions/${id}`);
	await request(`/v1/sessions/${id}/messages?order=desc&limit=10`);
	await request(`/v1/sessions/${id}/files/a.txt`);
	await request(`/v1/sessions/${id}`, { title: 'Long.' }, {}, 'PATCH');
	play('Again.');
	const { runId } = await (await say('Again.')).json<{ runId: string }>();
	await request(`/v1/sessions/${id}/runs/${runId}/feedback`, { rating: 'up' }, {}, 'PUT');
	await request(`/v1/sessions/${id}/token`, {});
	await request(`/v1/sessions/${id}/files`);
	await request(`/v1/sessions/${id}/tasks`);
	await request(`/v1/sessions/${id}/trace?run=${runId}`);
	await request(`/v1/sessions/${id}/ui`);
	await request(`/v1/sessions/${id}/files/b.txt`, { b: 1 }, {}, 'PUT');
	await request(`/v1/sessions/${id}/changes?limit=5`);
	const read = new Map<string, number>();
	const done = await runInDurableObject(readObject(id), () => work());
	for (const { what, read: rows } of done) read.set(what, (read.get(what) ?? 0) + rows);
	return read;
}

test('no statement of a turn reads more rows in a session with more runs', async () => {
	const [short, long] = [await tour(400), await tour(4_000)];
	const growing = [...long].filter(([what, rows]) => rows > (short.get(what) ?? 0) + 50);
	expect(growing.map(([what, rows]) => `${short.get(what)} -> ${rows}: ${what.replace(/\s+/g, ' ')}`)).toEqual([]);
});

/** Restarts a session. Returns its labels, and the pages and rows of messages that the request for them reads. */
async function readLabels(id: string) {
	await restart(id);
	const work = countWork(id);
	const { labels } = await (await request(`/v1/sessions/${id}`)).json<{ labels: string[] }>();
	const done = await runInDurableObject(readObject(id), () => work());
	const pages = done.filter(({ what }) => what.includes('body, created_at FROM message'));
	return { labels, pages: pages.length, rows: pages.reduce((sum, { read }) => sum + read, 0) };
}

/** A session with so many messages of a person. They have no label. */
async function createWithMessages(count: number, characters: number): Promise<string> {
	const id = await createSession('long-lived');
	play('Hello.');
	await (await request(`/v1/sessions/${id}/messages`, { text: 'Hello.' })).json();
	await runInDurableObject(readObject(id), (_, { storage }) => {
		storage.sql.exec(
			`WITH RECURSIVE number (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM number WHERE k < ?)
			INSERT INTO message (seq, part, run, stored, body, created_at)
			SELECT (9 + k) * ${messageStride}, 0, 1, 0,
				'{"message":{"role":"user","content":"' || hex(zeroblob(?)) || '"}}', 1
			FROM number`,
			...[count, characters / 2],
		);
	});
	await restart(id);
	return id;
}

test('the first request to a large fork or import does not read its messages again', async () => {
	const id = await createWithMessages(3_000, 100);
	const { id: fork } = await (await request(`/v1/sessions/${id}/fork`, {})).json<{ id: string }>();
	const ofFork = await readLabels(fork);
	expect(ofFork.labels).toEqual([]);
	expect(ofFork.rows).toBeLessThan(600);
	const exported = await (await request(`/v1/sessions/${id}/export`)).json<object>();
	const { id: copy } = await (await request('/v1/sessions/import', exported)).json<{ id: string }>();
	const ofCopy = await readLabels(copy);
	expect(ofCopy.labels).toEqual(['outside', 'private']);
	expect(ofCopy.rows).toBeLessThan(10);
});

test('a session with much unread text has both labels until further requests have read the text', async () => {
	const id = await createWithMessages(80, 1_000_000);
	for (const labels of [['outside', 'private'], ['outside', 'private'], []]) {
		const read = await readLabels(id);
		expect(read.labels).toEqual(labels);
		expect(read.pages).toBeLessThan(40);
	}
});

test('a request after a label was cleared does not read the messages from before', async () => {
	const id = await createWithMessages(3_000, 100);
	await request(`/v1/sessions/${id}`);
	expect((await request(`/v1/sessions/${id}`, { clearLabels: ['outside'] }, {}, 'PATCH')).status).toBe(200);
	const read = await readLabels(id);
	expect(read.labels).toEqual([]);
	expect(read.rows).toBeLessThan(10);
});
