import { env, runInDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { allEvents, follow, request, send, textOf } from '../client.ts';
import { play } from '../script.ts';

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

test('a session of the first version is taken up as it stands: read, followed, answered and talked to', async () => {
	const id = env.SESSIONS.newUniqueId();
	const object = env.SESSIONS.get(id);
	await runInDurableObject(object, async (_, ctx) => {
		ctx.storage.transactionSync(() => {
			ctx.storage.sql.exec(first);
			ctx.storage.sql.exec("INSERT INTO session VALUES (?, 'scripted', NULL, NULL, 1)", id.toString());
		});
		await ctx.storage.sync();
		ctx.abort('restart');
	}).catch(() => {});
	const path = `/v1/sessions/${id}`;
	expect(await (await request(path)).json()).toMatchObject({
		status: 'awaiting_tools',
		toolCalls: [{ id: 'm', name: 'by_hand', input: {} }],
	});
	expect((await allEvents(await follow(id.toString()))).at(-1)?.type).toBe('awaiting');
	play('Done.');
	const answered = await request(`${path}/tool-results`, [{ id: 'm', output: 1 }], { accept: 'text/event-stream' });
	expect(textOf(await allEvents(answered))).toBe('Done.');
	play('Hello again.');
	expect(textOf(await allEvents(await send(id.toString(), 'hello')))).toBe('Hello again.');
});
