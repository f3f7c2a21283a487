import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { migrate } from '../../../src/cloudflare/objects/migrate.ts';
import { createRunlet, defineAgent } from '../../../src/cloudflare/runlet/index.ts';
import { schema } from '../../../src/cloudflare/session/store/schema.ts';
import { allEvents, follow, readHistory, readState, readText, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';

/** The tables of the first version, as objects hold them. Never to be changed: a later version has to read them. */
const first = `
	CREATE TABLE schema_version (version INTEGER NOT NULL);
	INSERT INTO schema_version VALUES (1);
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, model TEXT, metadata TEXT, created_at INTEGER NOT NULL,
		owner TEXT NOT NULL, budget TEXT, expires_after INTEGER, title TEXT, summary INTEGER NOT NULL DEFAULT 0,
		token_key TEXT, client_tools TEXT, listed_at INTEGER
	) WITHOUT ROWID;
	CREATE TABLE run (
		n INTEGER PRIMARY KEY, id TEXT NOT NULL, status TEXT NOT NULL, model TEXT, stop_after INTEGER,
		max_output_tokens INTEGER, tool_choice TEXT, terms TEXT, boot TEXT NOT NULL, attempt INTEGER NOT NULL,
		lost INTEGER NOT NULL DEFAULT 0, progress INTEGER NOT NULL DEFAULT 0, restarts INTEGER NOT NULL DEFAULT 0,
		draft TEXT, first_seq INTEGER NOT NULL, tail TEXT, created_at INTEGER NOT NULL, ended_at INTEGER
	) WITHOUT ROWID;
	CREATE TABLE message (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, run INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, replaced INTEGER NOT NULL DEFAULT 0, client TEXT, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE INDEX message_client ON message (client) WHERE client IS NOT NULL;
	CREATE TABLE output (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE call (
		turn INTEGER NOT NULL, call TEXT NOT NULL, state TEXT NOT NULL, asked INTEGER NOT NULL, arguments TEXT NOT NULL,
		question TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (turn, call)
	) WITHOUT ROWID;
	CREATE INDEX call_asked ON call (call) WHERE asked = 1;
	CREATE TABLE delivery (
		key TEXT PRIMARY KEY, request TEXT NOT NULL, run INTEGER, waiting INTEGER, created_at INTEGER NOT NULL, body TEXT
	) WITHOUT ROWID;
	CREATE INDEX delivery_body ON delivery (body) WHERE body IS NOT NULL;
	CREATE TABLE queue (
		id INTEGER NOT NULL, part INTEGER NOT NULL, steers INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (id, part)
	) WITHOUT ROWID;
	CREATE TABLE spending (
		call INTEGER PRIMARY KEY, run INTEGER NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
		total_tokens INTEGER NOT NULL, total_usd REAL NOT NULL, settled INTEGER NOT NULL, owed INTEGER NOT NULL,
		created_at INTEGER NOT NULL, input_tokens INTEGER NOT NULL, input_usd REAL NOT NULL, output_usd REAL NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE callback (
		id TEXT PRIMARY KEY, run INTEGER NOT NULL, run_id TEXT NOT NULL, url TEXT NOT NULL, failed INTEGER NOT NULL,
		due_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE token (
		id TEXT PRIMARY KEY, key_id TEXT NOT NULL, scopes TEXT NOT NULL, is_first INTEGER NOT NULL, expires_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE outbox (
		id TEXT PRIMARY KEY, body TEXT NOT NULL, failed INTEGER NOT NULL, due_at INTEGER NOT NULL
	) WITHOUT ROWID;
	INSERT INTO message (seq, part, run, stored, body, created_at)
		VALUES (65536, 0, 1, 0, '{"message":{"role":"user","content":"go"},"input":true}', 1);
`;

/** A run of that version. */
const run = (status: string, more: Readonly<Record<string, string>> = {}) => {
	const row = { n: '1', id: "'run_1'", status: `'${status}'`, model: "'scripted'", boot: "'b'", attempt: '2' };
	const all = { ...row, first_seq: '65536', created_at: '1', ...more };
	return `INSERT INTO run (${Object.keys(all).join(', ')}) VALUES (${Object.values(all).join(', ')});`;
};

/** A run that waits for the answer to a call, and the message that made it. */
const waitsFor = (call: Readonly<Record<string, unknown>>, kind?: string) => {
	const tail = JSON.stringify({
		before: [],
		draft: [],
		steps: 1,
		event: { type: 'awaiting', status: 'awaiting_tools', toolCalls: [{ ...call, input: null, kind }] },
	});
	const message = JSON.stringify({
		message: { role: 'assistant', content: '', toolCalls: [call] },
		turn: { iteration: 1, model: 'scripted', stopReason: 'tool_use', usage: {} },
	});
	return [
		run('awaiting_tools', { tail: `'${tail}'`, ended_at: '2' }),
		`INSERT INTO message (seq, part, run, stored, body, created_at) VALUES (131072, 0, 1, 0, '${message}', 1)`,
	];
};

/** A session whose object holds these rows in the tables of the first version. */
async function stored(...statements: readonly string[]): Promise<string> {
	const id = env.SESSIONS.newUniqueId();
	await runInDurableObject(env.SESSIONS.get(id), async (_, { storage }) => {
		storage.transactionSync(() => {
			for (const each of [first, ...statements]) storage.sql.exec(each);
			const insert = "INSERT INTO session (id, agent, created_at, owner) VALUES (?, 'scripted', 1, 'local')";
			storage.sql.exec(insert, id.toString());
		});
	});
	await restart(id.toString());
	return id.toString();
}

describe('a session of the first version', () => {
	test('is taken up as it stands: read, followed, answered and talked to', async () => {
		const id = await stored(...waitsFor({ id: 'm', name: 'by_hand', input: {} }));
		const path = `/v1/sessions/${id}`;
		expect(await (await request(path)).json()).toMatchObject({
			status: 'awaiting_tools',
			toolCalls: [{ id: 'm', name: 'by_hand', input: {} }],
		});
		expect((await allEvents(await follow(id))).at(-1)?.type).toBe('awaiting');
		play('Done.');
		const answered = await request(`${path}/tool-results`, [{ id: 'm', output: 1 }], { accept: 'text/event-stream' });
		expect(readText(await allEvents(answered))).toBe('Done.');
		play('Hello again.');
		expect(readText(await allEvents(await send(id, 'hello')))).toBe('Hello again.');
	});

	test('stays reachable by whom it was, whoever names a user in its metadata, and has no user', async () => {
		const id = await stored();
		await runInDurableObject(env.SESSIONS.get(env.SESSIONS.idFromString(id)), (_, { storage }) => {
			storage.sql.exec(`UPDATE session SET metadata = '{"user":"ada"}', owner = 'ada@example.com'`);
		});
		await restart(id);
		const product = createRunlet({
			agents: [defineAgent({ name: 'scripted', description: 'Says what the test has written.' })],
			authenticate: (given) => JSON.parse(given.headers.get('cookie') ?? 'null') ?? undefined,
		});
		const read = async (account: object) => {
			const headers = { cookie: JSON.stringify(account) };
			const given = { ...env, LOCAL: 'false', API_KEYS: '', RATE_LIMITER: undefined };
			return product.fetch(new Request(`https://product.example.com/v1/sessions/${id}`, { headers }), given);
		};
		const owner = 'ada@example.com';
		const session = await (await read({ owner })).json<Record<string, unknown>>();
		expect(session).toMatchObject({ id, metadata: { user: 'ada' } });
		expect(session.user).toBeUndefined();
		const statuses = [
			await read({ owner, role: 'admin' }),
			await read({ owner, user: 'ada' }),
			await read({ owner, user: 'ada', role: 'staff' }),
			await read({ owner: 'ben@example.com', role: 'admin' }),
			await read({ owner: 'ben@example.com', user: 'ada' }),
		];
		expect(statuses.map(({ status }) => status)).toEqual([200, 404, 200, 404, 404]);
	});

	test('begins what waits, and takes tokens and replaced messages', async () => {
		play('Now.');
		const waiting = JSON.stringify({
			runId: 'run_2',
			message: { role: 'user', content: 'and now?' },
			inbound: { sender: 'local', transport: 'http' },
			steers: false,
		});
		const tail = '{"before":[],"draft":[],"steps":0,"event":{"type":"cancelled"}}';
		const id = await stored(
			run('cancelled', { tail: `'${tail}'`, ended_at: '2' }),
			`INSERT INTO queue VALUES (1, 0, 0, '${waiting}', 2)`,
		);
		await expect
			.poll(async () => (await readHistory(id)).map(({ content }) => content))
			.toEqual(['go', 'and now?', 'Now.']);
		expect((await request(`/v1/sessions/${id}/token`, {})).status).toBe(201);
		play('Again.');
		const post = {
			id,
			trigger: 'regenerate-message',
			messages: [{ role: 'user', parts: [{ type: 'text', text: 'and now?' }] }],
		};
		await (await request('/v1/ui/scripted', post)).text();
		expect((await readHistory(id)).map(({ content }) => content)).toContain('Again.');
		expect(await readState(id)).toMatchObject({ status: 'completed' });
	});

	test('whose run was asked again goes on where its readers are, with a request open', async () => {
		const draft = '{"iteration":1,"restarts":1,"events":[]}';
		const id = await stored(
			run('running', { lost: '1', restarts: '1', draft: `'${draft}'` }),
			"INSERT INTO spending VALUES (1, 1, 'scripted', 10, 0, 0, 0, 0, 0, 1, 1, 0, 0)",
		);
		play('Whole.');
		const inTheSecondLife = '1.0.1.0.0.0.4.0.0.0';
		const events = await allEvents(await follow(id, inTheSecondLife));
		expect(events.map(({ type }) => type)).toEqual(['turn.restarted', 'text', 'stop', 'step', 'done']);
		expect(readText(events)).toBe('Whole.');
		expect(await readState(id)).toMatchObject({ status: 'completed', budget: { reserved: { tokens: 0 } } });
	});

	test('that waits for an approval takes other arguments for it', async () => {
		const id = await stored(...waitsFor({ id: 'p', name: 'pay', input: { amount: 5 } }, 'approval'));
		play('Paid.');
		await request(`/v1/sessions/${id}/tool-results`, [{ id: 'p', approve: true, input: { amount: 2 } }]);
		expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([
			{ content: 'paid 2', ranWith: { amount: 2 } },
		]);
	});

	test('that waits for an approval keeps it under its id', async () => {
		const id = await stored(...waitsFor({ id: 'p', name: 'pay', input: { amount: 5 } }, 'approval'));
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({ data: { toolCalls: [{ id: 'p' }] } });
		play('Paid.');
		const path = `/v1/sessions/${id}/tool-results`;
		const answered = await request(path, [{ id: 'p', approve: true }], { accept: 'text/event-stream' });
		expect(readText(await allEvents(answered))).toBe('Paid.');
		expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([{ content: 'paid 5' }]);
	});
});

test('a run of an earlier version keeps the sources of what its model was told of memories, and no text of them', async () => {
	const version = schema.migrations.findIndex((statements) => statements.includes('UPDATE run SET recalled'));
	expect(version).toBeGreaterThan(0);
	const then = schema.migrations.slice(0, version);
	const before = [
		{ text: "Likes 'short' answers.", sources: ['style.md', 'a "b".md'] },
		{ text: 'x', sources: [] },
		null,
	];
	const rows = await runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), (_, { storage }) =>
		storage.transactionSync(() => {
			migrate(storage.sql, { tables: then.join(' '), migrations: then });
			const insert = `INSERT INTO run (n, id, status, boot, attempt, first_seq, created_at, recalled)
				VALUES (?, 'run', 'completed', 'b', 1, 65536, 1, ?)`;
			for (const [n, recalled] of before.entries()) storage.sql.exec(insert, n, JSON.stringify(recalled));
			storage.sql.exec(insert, before.length, null);
			migrate(storage.sql, schema);
			return storage.sql.exec<{ recalled: string | null }>('SELECT recalled FROM run ORDER BY n').toArray();
		}),
	);
	expect(rows.map(({ recalled }) => recalled)).toEqual([
		'{"sources":["style.md","a \\"b\\".md"]}',
		'{"sources":[]}',
		'null',
		null,
	]);
});
