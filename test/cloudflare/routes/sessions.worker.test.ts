import { env, runInDurableObject, SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { createApp } from '../../../src/cloudflare/routes/app.ts';
import { allEvents, createSession, request, send } from '../../client.ts';
import { play } from '../../script.ts';

interface Page {
	readonly messages: {
		readonly id: string;
		readonly role: string;
		readonly content: unknown;
		readonly runId: string;
	}[];
	readonly cursor?: string;
}

const page = async (path: string): Promise<Page> => (await request(path)).json();

test('GET /healthz answers ok', async () => {
	expect(await (await request('/healthz')).json()).toEqual({ status: 'ok' });
});

test('lists the agents with their model, tools and skills', async () => {
	const { agents } = await (await request('/v1/agents')).json<{ agents: { name: string }[] }>();
	expect(agents[0]).toMatchObject({ name: 'scripted', description: 'Plays a script.', model: 'scripted', skills: [] });
	expect(agents[0]).toHaveProperty('tools.0', { name: 'echo' });
	expect(agents).toContainEqual(expect.objectContaining({ name: 'plain', model: 'demo' }));
});

test('a new session is idle, and its answer has a Location header', async () => {
	const response = await request('/v1/sessions', { agent: 'scripted', metadata: { customer: '42' } });
	expect(response.status).toBe(201);
	const { token, tokenId, tokenScopes, tokenExpiresAt, ...session } = await response.json<{
		id: string;
		[more: string]: unknown;
	}>();
	expect([token, tokenExpiresAt]).toEqual([expect.stringMatching(/^rls_/), expect.stringMatching(/Z$/)]);
	expect([tokenId, tokenScopes]).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/), ['read', 'message']]);
	expect(session).toMatchObject({ agent: 'scripted', model: 'scripted', status: 'idle', metadata: { customer: '42' } });
	expect(response.headers.get('location')).toBe(`/v1/sessions/${session.id}`);
	const shown = await (await request(`/v1/sessions/${session.id}`)).json();
	expect(shown).toEqual({ ...session, labels: [], owner: 'local' });
});

test('PATCH changes the title of a session', async () => {
	const path = `/v1/sessions/${await createSession()}`;
	expect(await (await request(path)).json()).not.toHaveProperty('title');
	const changed = await request(path, { title: 'Invoices' }, {}, 'PATCH');
	expect(await changed.json()).toMatchObject({ title: 'Invoices' });
	expect(await (await request(path)).json()).toMatchObject({ title: 'Invoices' });
});

test('two sessions are separate', async () => {
	const [one, two] = [await createSession(), await createSession()];
	play('for one');
	await allEvents(await send(one, 'hello'));
	expect((await page(`/v1/sessions/${two}/messages`)).messages).toEqual([]);
});

test('the pages of the history have each message once, in order', async () => {
	const id = await createSession();
	for (const n of [1, 2, 3]) {
		play({ text: `look ${n}`, toolCalls: [{ id: `c${n}`, name: 'echo', input: { text: `${n}` } }] }, `answer ${n}`);
		await allEvents(await send(id, `question ${n}`));
	}
	const all = (await page(`/v1/sessions/${id}/messages`)).messages;
	expect(all.map(({ role }) => role)).toEqual(
		Array.from({ length: 3 }, () => ['user', 'assistant', 'tool', 'assistant']).flat(),
	);
	expect(new Set(all.map(({ runId }) => runId)).size).toBe(3);
	const paged = [];
	let cursor: string | undefined;
	do {
		const next = await page(`/v1/sessions/${id}/messages?limit=5${cursor === undefined ? '' : `&cursor=${cursor}`}`);
		expect(next.messages.length).toBeLessThanOrEqual(5);
		paged.push(...next.messages);
		cursor = next.cursor;
	} while (cursor !== undefined);
	expect(paged).toEqual(all);
	const back = [];
	for (let before = ''; ; ) {
		const next = await page(`/v1/sessions/${id}/messages?order=desc&limit=5${before}`);
		back.push(...next.messages);
		if (next.cursor === undefined) break;
		before = `&cursor=${next.cursor}`;
	}
	expect(back.toReversed()).toEqual(all);
});

test('tool results in the history have the order of their calls, even if they arrived in another order', async () => {
	const id = await createSession();
	play(
		{
			toolCalls: [
				{ id: 'slow', name: 'noisy', input: { times: 1 } },
				{ id: 'quick', name: 'nothing', input: {} },
			],
		},
		'done',
	);
	await allEvents(await send(id, 'go'));
	const { messages } = await page(`/v1/sessions/${id}/messages`);
	expect(messages.map((message) => [message.role, 'toolCallId' in message ? message.toolCallId : ''])).toEqual([
		['user', ''],
		['assistant', ''],
		['tool', 'slow'],
		['tool', 'quick'],
		['assistant', ''],
	]);
});

test('a message of many megabytes is stored in several rows', async () => {
	const id = await createSession();
	const text = '€🎈'.repeat(700_000);
	play({ text });
	await allEvents(await send(id, 'go'));
	const { messages } = await page(`/v1/sessions/${id}/messages`);
	expect(messages[1]?.content).toBe(text);
});

test('a page of the history is bounded in bytes', async () => {
	const id = await createSession();
	for (const n of [1, 2, 3]) {
		play({ text: `${n}`.repeat(3_000_000) });
		await allEvents(await send(id, 'go'));
	}
	const first = await page(`/v1/sessions/${id}/messages`);
	expect(first.messages.length).toBeLessThan(6);
	expect(first.cursor).toBeDefined();
	const rest = await page(`/v1/sessions/${id}/messages?cursor=${first.cursor}`);
	expect(first.messages.length + rest.messages.length).toBe(6);
	const newest = await page(`/v1/sessions/${id}/messages?order=desc`);
	expect(newest.messages.length).toBeLessThan(6);
	const oldest = await page(`/v1/sessions/${id}/messages?order=desc&cursor=${newest.cursor}`);
	const contents = [...newest.messages, ...oldest.messages].map(({ content }) => content);
	expect(contents).toEqual([...first.messages, ...rest.messages].map(({ content }) => content).toReversed());
});

test('a deployed Worker without keys answers nobody, and names the remedy', async () => {
	const app = createApp({ agents: [], providers: () => [] });
	const response = await app.request('/v1/agents', {}, { ...env, LOCAL: 'false' });
	expect(response.status).toBe(503);
	expect(await response.json()).toMatchObject({
		error: { code: 'not_configured', message: expect.stringContaining('npm start') },
	});
	expect((await app.request('/healthz', {}, { ...env, LOCAL: 'false' })).status).toBe(200);
});

test('the error for an invalid variable names the variable and where it is set', async () => {
	const app = createApp({ agents: [], providers: () => [] });
	const response = await app.request('/v1/agents', {}, { ...env, MODEL: ' ' });
	expect(await response.json()).toMatchObject({
		error: { message: expect.stringMatching(/^MODEL: .*wrangler\.toml/) },
	});
});

test('HEAD is answered like GET', async () => {
	expect((await SELF.fetch('http://localhost/healthz', { method: 'HEAD' })).status).toBe(200);
});

test('a message can choose another model of the agent, which later runs use, too', async () => {
	const id = await createSession();
	play('from the script');
	await allEvents(await send(id, 'hello'));
	const path = `/v1/sessions/${id}`;
	const refused = await request(`${path}/messages`, { text: 'hello', model: 'gpt-99' });
	expect(refused.status).toBe(400);
	expect(await refused.json()).toMatchObject({
		error: { data: { field: 'model' }, message: expect.stringContaining('demo') },
	});
	expect(await (await request(path)).json()).toMatchObject({ model: 'scripted', status: 'completed' });
	const answer = await (await request(`${path}/messages`, { text: 'What is 1 + 2?', model: 'demo' })).json();
	expect(JSON.stringify(answer)).toContain('demo');
	expect(await (await request(path)).json()).toMatchObject({ model: 'demo' });
	const next = await (await request(`${path}/messages`, { text: 'Who are you?' })).json();
	expect(JSON.stringify(next)).toContain('I am the demo model');
	expect((await page(`${path}/messages`)).messages).toHaveLength(6);
});

test('DELETE stops the run and removes all data, and the id then gets 404', async () => {
	const id = await createSession();
	play('one');
	await allEvents(await send(id, 'hello'));
	play(() => new Promise(() => {}));
	const running = await send(id, 'and now?');
	const path = `http://localhost/v1/sessions/${id}`;
	expect((await SELF.fetch(path, { method: 'DELETE' })).status).toBe(204);
	expect((await allEvents(running)).at(-1)?.type).toBe('cancelled');
	for (const part of ['', '/messages', '/events']) expect((await SELF.fetch(path + part)).status).toBe(404);
	expect((await request(`/v1/sessions/${id}/messages`, { text: 'hello?' })).status).toBe(404);
	expect((await SELF.fetch(path, { method: 'DELETE' })).status).toBe(404);
	const rows = await runInDurableObject(env.SESSIONS.get(env.SESSIONS.idFromString(id)), (_, { storage }) =>
		storage.sql
			.exec("SELECT name FROM sqlite_master WHERE name IN ('message', 'run', 'session', 'approval')")
			.toArray(),
	);
	expect(rows).toEqual([]);
});
