import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { migrations } from '../../../src/cloudflare/session/store/schema.ts';
import { hashText } from '../../../src/core/ground/hash.ts';
import { allEvents, follow, readHistory, readState, readText, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';

/** The tables of the first version, and a session that had begun a conversation. Never to be changed. */
const first = `
	CREATE TABLE schema_version (version INTEGER NOT NULL);
	INSERT INTO schema_version VALUES (1);
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, model TEXT, metadata TEXT, created_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE run (
		n INTEGER PRIMARY KEY, id TEXT NOT NULL, status TEXT NOT NULL, boot TEXT NOT NULL, attempt INTEGER NOT NULL,
		first_seq INTEGER NOT NULL, tail TEXT, created_at INTEGER NOT NULL, ended_at INTEGER
	) WITHOUT ROWID;
	CREATE TABLE message (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, run INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	INSERT INTO run VALUES (1, 'run_1', 'awaiting_tools', 'b', 1, 65536,
		'{"before":[],"draft":[],"event":{"type":"awaiting","status":"awaiting_tools","toolCalls":[{"id":"m","name":"by_hand","input":null}]}}',
		1, 2);
	INSERT INTO message VALUES (65536, 0, 1, 0, '{"message":{"role":"user","content":"go"},"input":true}', 1);
	INSERT INTO message VALUES (131072, 0, 1, 0,
		'{"message":{"role":"assistant","content":"","toolCalls":[{"id":"m","name":"by_hand","input":{}}]},"turn":{"iteration":1,"model":"scripted","stopReason":"tool_use","usage":{}}}',
		1);
`;

/** The tables of the second version, and a session that waits for one of two approvals. Never to be changed. */
const second = `
	CREATE TABLE schema_version (version INTEGER NOT NULL);
	INSERT INTO schema_version VALUES (2);
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, model TEXT, metadata TEXT, created_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE run (
		n INTEGER PRIMARY KEY, id TEXT NOT NULL, status TEXT NOT NULL, boot TEXT NOT NULL, attempt INTEGER NOT NULL,
		first_seq INTEGER NOT NULL, tail TEXT, created_at INTEGER NOT NULL, ended_at INTEGER
	) WITHOUT ROWID;
	CREATE TABLE message (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, run INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE approval (
		turn INTEGER NOT NULL, call TEXT NOT NULL, arguments TEXT NOT NULL, created_at INTEGER NOT NULL,
		PRIMARY KEY (turn, call)
	) WITHOUT ROWID;
	CREATE TABLE delivery (
		key TEXT PRIMARY KEY, request TEXT NOT NULL, run INTEGER NOT NULL, created_at INTEGER NOT NULL
	) WITHOUT ROWID;
	INSERT INTO run VALUES (1, 'run_1', 'awaiting_tools', 'b', 1, 65536,
		'{"before":[],"draft":[],"event":{"type":"awaiting","status":"awaiting_tools","toolCalls":[{"id":"p","name":"pay","input":null,"kind":"approval"},{"id":"q","name":"pay","input":null,"kind":"approval"}]}}',
		1, 2);
	INSERT INTO message VALUES (65536, 0, 1, 0, '{"message":{"role":"user","content":"go"},"input":true}', 1);
	INSERT INTO message VALUES (131072, 0, 1, 0,
		'{"message":{"role":"assistant","content":"","toolCalls":[{"id":"p","name":"pay","input":{"amount":5}},{"id":"q","name":"pay","input":{"amount":6}}]},"turn":{"iteration":1,"model":"scripted","stopReason":"tool_use","usage":{}}}',
		1);
	INSERT INTO approval VALUES (131072, 'p', 'HASH', 1);
	INSERT INTO delivery VALUES ('k', 'r', 1, 1);
`;

/** The tables of the third version, and a session that has had a conversation, and a message that waits. Never to be changed. */
const third = `
	CREATE TABLE schema_version (version INTEGER NOT NULL);
	INSERT INTO schema_version VALUES (3);
	CREATE TABLE session (
		id TEXT PRIMARY KEY, agent TEXT NOT NULL, model TEXT, metadata TEXT, created_at INTEGER NOT NULL,
		owner TEXT NOT NULL DEFAULT 'local', budget TEXT, expires_after INTEGER, title TEXT,
		summary INTEGER NOT NULL DEFAULT 0
	) WITHOUT ROWID;
	CREATE TABLE run (
		n INTEGER PRIMARY KEY, id TEXT NOT NULL, status TEXT NOT NULL, boot TEXT NOT NULL, attempt INTEGER NOT NULL,
		first_seq INTEGER NOT NULL, tail TEXT, created_at INTEGER NOT NULL, ended_at INTEGER, model TEXT,
		stop_after INTEGER, lost INTEGER NOT NULL DEFAULT 0, taken_up_at INTEGER, stalled_at INTEGER,
		restarts INTEGER NOT NULL DEFAULT 0, draft TEXT, journaled INTEGER NOT NULL DEFAULT 0
	) WITHOUT ROWID;
	CREATE TABLE message (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, run INTEGER NOT NULL, stored INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE delivery (
		key TEXT PRIMARY KEY, request TEXT NOT NULL, run INTEGER NOT NULL, created_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE call (
		turn INTEGER NOT NULL, call TEXT NOT NULL, state TEXT NOT NULL, asked INTEGER NOT NULL, arguments TEXT NOT NULL,
		question TEXT, created_at INTEGER NOT NULL, PRIMARY KEY (turn, call)
	) WITHOUT ROWID;
	CREATE INDEX call_asked ON call (call) WHERE asked = 1;
	CREATE TABLE output (
		seq INTEGER NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (seq, part)
	) WITHOUT ROWID;
	CREATE TABLE queue (
		id INTEGER NOT NULL, part INTEGER NOT NULL, steers INTEGER NOT NULL, body TEXT NOT NULL,
		created_at INTEGER NOT NULL, PRIMARY KEY (id, part)
	) WITHOUT ROWID;
	CREATE TABLE spending (
		call INTEGER PRIMARY KEY, run INTEGER NOT NULL, model TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
		total_tokens INTEGER NOT NULL, total_usd REAL NOT NULL, settled INTEGER NOT NULL, owed INTEGER NOT NULL,
		created_at INTEGER NOT NULL
	) WITHOUT ROWID;
	INSERT INTO run VALUES (1, 'run_1', 'completed', 'b', 1, 65536,
		'{"before":[],"draft":[],"event":{"type":"done","text":"","usage":{}}}',
		1, 2, 'scripted', NULL, 0, NULL, NULL, 0, NULL, 1);
	INSERT INTO message VALUES (65536, 0, 1, 0, '{"message":{"role":"user","content":"go"},"input":true}', 1);
	INSERT INTO message VALUES (131072, 0, 1, 0,
		'{"message":{"role":"assistant","content":"Gone."},"turn":{"iteration":1,"model":"scripted","stopReason":"end_turn","usage":{}}}',
		1);
	INSERT INTO queue VALUES (1, 0, 0, '{"runId":"run_2","message":{"role":"user","content":"and now?"},"inbound":{"sender":"local","transport":"http"},"steers":false}', 2);
`;

/** A run of the second version that died with its object, while its tools ran. */
const died = `
	UPDATE run SET status = 'running', tail = NULL, ended_at = NULL;
	UPDATE message SET body = replace(replace(body, '"name":"pay"', '"name":"echo"'), '"amount"', '"text"');
	DELETE FROM approval;
`;

/** A session whose object holds these tables. */
async function stored(...statements: readonly string[]): Promise<string> {
	const id = env.SESSIONS.newUniqueId();
	await runInDurableObject(env.SESSIONS.get(id), async (_, { storage }) => {
		storage.transactionSync(() => {
			for (const each of statements) storage.sql.exec(each);
			const insert = 'INSERT INTO session (id, agent, created_at) VALUES (?, ?, 1)';
			storage.sql.exec(insert, id.toString(), 'scripted');
		});
	});
	await restart(id.toString());
	return id.toString();
}

test('a session of the first version is taken up as it stands: read, followed, answered and talked to', async () => {
	const id = await stored(first);
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

test('one of the second version keeps what was allowed, and asks for the rest', async () => {
	const id = await stored(second.replace('HASH', hashText('["pay",{"amount":5}]')));
	expect(await readState(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'q', kind: 'approval' }] });
	play('Paid one.');
	const path = `/v1/sessions/${id}/tool-results`;
	const answered = await request(path, [{ id: 'q', approve: false }], { accept: 'text/event-stream' });
	expect(readText(await allEvents(answered))).toBe('Paid one.');
	expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([
		{ toolCallId: 'p', content: 'paid 5' },
		{ toolCallId: 'q', isError: true },
	]);
});

test('a run of the second version that died noted no calls: what may have run is not run again', async () => {
	const id = await stored(second, died);
	play('I will look.');
	expect(readText(await allEvents(await follow(id)))).toBe('I will look.');
	expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([
		{ toolCallId: 'p', isError: true, content: expect.stringContaining('not known') },
		{ toolCallId: 'q', isError: true },
	]);
});

test('one of the third version begins what waits, and has what came since: tokens, replaced messages, callbacks', async () => {
	play('Now.');
	const id = await stored(third);
	await expect
		.poll(async () => (await readHistory(id)).map(({ content }) => content))
		.toEqual(['go', 'Gone.', 'and now?', 'Now.']);
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

describe('one of the fourth version', () => {
	const fourth = `
		CREATE TABLE schema_version (version INTEGER NOT NULL);
		INSERT INTO schema_version VALUES (4);
		${migrations.slice(0, 4).join('\n')}
		INSERT INTO message (seq, part, run, stored, body, created_at)
			VALUES (65536, 0, 1, 0, '{"message":{"role":"user","content":"go"},"input":true}', 1);
	`;
	const run = (status: string, more: Readonly<Record<string, string>> = {}) => {
		const row = {
			n: '1',
			id: "'run_1'",
			status: `'${status}'`,
			boot: "'b'",
			attempt: '2',
			first_seq: '65536',
			...more,
		};
		const all = { ...row, created_at: '1', model: "'scripted'", journaled: '1' };
		return `INSERT INTO run (${Object.keys(all).join(', ')}) VALUES (${Object.values(all).join(', ')});`;
	};

	test('whose run was asked again goes on where its readers are, with a request open and no draft stored', async () => {
		const id = await stored(
			fourth,
			run('running', { lost: '1', taken_up_at: '2', stalled_at: '2', restarts: '1' }),
			`INSERT INTO spending (call, run, model, tokens, usd, total_tokens, total_usd, settled, owed, created_at)
				VALUES (1, 1, 'scripted', 10, 0, 0, 0, 0, 0, 1)`,
		);
		play('Whole.');
		const inTheSecondLife = '1.0.1.0.0.0.4.0.0.0';
		const events = await allEvents(await follow(id, inTheSecondLife));
		expect(events.map(({ type }) => type)).toEqual(['turn.restarted', 'text', 'stop', 'step', 'done']);
		expect(readText(events)).toBe('Whole.');
		expect(await readState(id)).toMatchObject({ status: 'completed', budget: { reserved: { tokens: 0 } } });
	});

	test('that waits for an approval keeps it under its id', async () => {
		const id = await stored(
			fourth,
			run('awaiting_tools', {
				tail: `'{"before":[],"draft":[],"steps":1,"event":{"type":"awaiting","status":"awaiting_tools","toolCalls":[{"id":"p","name":"pay","input":null,"kind":"approval"}]}}'`,
				ended_at: '2',
			}),
			`INSERT INTO message (seq, part, run, stored, body, created_at) VALUES (131072, 0, 1, 0,
				'{"message":{"role":"assistant","content":"","toolCalls":[{"id":"p","name":"pay","input":{"amount":5}}]},"turn":{"iteration":1,"model":"scripted","stopReason":"tool_use","usage":{}}}',
				1)`,
		);
		expect((await allEvents(await follow(id))).at(-1)).toMatchObject({ data: { toolCalls: [{ id: 'p' }] } });
		play('Paid.');
		const path = `/v1/sessions/${id}/tool-results`;
		const answered = await request(path, [{ id: 'p', approve: true }], { accept: 'text/event-stream' });
		expect(readText(await allEvents(answered))).toBe('Paid.');
		expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([{ content: 'paid 5' }]);
	});
});
