/** People rate answers, and staff list the ratings (docs/sessions.md, "Feedback"). */
import { runDurableObjectAlarm, SELF } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import { DirectoryStore } from '../../../src/cloudflare/objects/directory/store.ts';
import { allEvents, createSession, querySession, readObject, readState, request, restart, send } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

interface Entry {
	readonly sessionId: string;
	readonly runId: string;
	readonly user?: string;
	readonly owner?: string;
	readonly note?: string;
}

interface Page {
	readonly feedback: readonly Entry[];
	readonly cursor?: string;
}

type Ask = (path: string, body?: object, method?: string) => Promise<Response>;

const ask: Ask = async (path, body, method) => request(path, body, {}, method);

/** Has a run, and returns its id. */
async function run(id: string, text = 'Today.'): Promise<string> {
	play(text);
	await allEvents(await send(id, 'When?'));
	const { run } = await readState(id);
	return (run as { id: string }).id;
}

const toPath = (id: string, runId: string) => `/v1/sessions/${id}/runs/${runId}/feedback`;
const rate = (id: string, runId: string, body: unknown) => request(toPath(id, runId), body, {}, 'PUT');

async function list(query = '', by: Ask = ask): Promise<readonly Entry[]> {
	const found: Entry[] = [];
	for (let cursor: string | undefined = ''; cursor !== undefined; ) {
		const page: Page = await (
			await by(`/v1/feedback?limit=100${query}${cursor === '' ? '' : `&cursor=${cursor}`}`)
		).json();
		found.push(...page.feedback);
		cursor = page.cursor;
	}
	return found;
}

const ofSession = async (id: string, query = '') => (await list(query)).filter(({ sessionId }) => sessionId === id);

test('a rating is shown with the run, its last message and the export', async () => {
	const id = await createSession();
	play({ text: 'I look.', toolCalls: [{ id: 'a', name: 'add', input: { a: 1, b: 2 } }] }, 'Today.');
	await allEvents(await send(id, 'When?'));
	const { run: first } = await readState(id);
	const runId = (first as { id: string }).id;
	const given = await rate(id, runId, { rating: 'down', note: 'It was yesterday.' });
	const feedback = { rating: 'down', note: 'It was yesterday.', createdAt: expect.stringMatching(/Z$/) };
	expect([given.status, await given.json()]).toEqual([200, feedback]);
	expect(await readState(id)).toMatchObject({ run: { id: runId, status: 'completed', feedback } });
	const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: { id: string }[] }>();
	expect(messages.filter((message) => 'feedback' in message)).toEqual([messages.at(-1)]);
	expect(messages.at(-1)).toMatchObject({ content: 'Today.', feedback });
	expect(await (await request(`/v1/sessions/${id}/messages/${messages.at(-1)?.id}`)).json()).toMatchObject({
		feedback,
	});
	const exported = await (await request(`/v1/sessions/${id}/export`)).json();
	expect(exported).toMatchObject({
		runs: [{ id: runId, feedback, stored: { end: expect.not.objectContaining({ feedback: expect.anything() }) } }],
	});
	for (const copy of [await request(`/v1/sessions/${id}/fork`, {}), await request('/v1/sessions/import', exported)]) {
		const { id: other } = await copy.json<{ id: string }>();
		expect(JSON.stringify(await (await request(`/v1/sessions/${other}/export`)).json())).not.toContain('yesterday');
		expect(await ofSession(other)).toEqual([]);
	}
});

test('a second rating replaces the first, and a removed one leaves the list', async () => {
	const id = await createSession();
	const runId = await run(id);
	await rate(id, runId, { rating: 'down', note: 'Wrong.' });
	await expect.poll(() => ofSession(id)).toMatchObject([{ rating: 'down', note: 'Wrong.' }]);
	await rate(id, runId, { rating: 'up' });
	await expect
		.poll(() => ofSession(id, '&rating=up'))
		.toEqual([
			{ sessionId: id, runId, agent: 'scripted', title: 'When?', rating: 'up', createdAt: expect.stringMatching(/Z$/) },
		]);
	expect(await ofSession(id, '&rating=down')).toEqual([]);
	expect((await ask(toPath(id, runId), undefined, 'DELETE')).status).toBe(204);
	expect((await ask(toPath(id, runId), undefined, 'DELETE')).status).toBe(204);
	await expect.poll(() => ofSession(id)).toEqual([]);
	expect((await readState(id)).run).not.toHaveProperty('feedback');
});

test('a run that goes on cannot be rated, and an unknown run is not found', async () => {
	const id = await createSession();
	const { promise, resolve } = Promise.withResolvers<string>();
	play(() => promise.then((text) => ({ text })));
	const response = await send(id, 'When?');
	const { run } = await readState(id);
	expect((await rate(id, (run as { id: string }).id, { rating: 'up' })).status).toBe(409);
	resolve('Now.');
	await allEvents(response);
	expect((await rate(id, (run as { id: string }).id, { rating: 'up' })).status).toBe(200);
	expect((await rate(id, 'run_none', { rating: 'up' })).status).toBe(404);
});

test('a note has at most 2,000 characters', async () => {
	const id = await createSession();
	const runId = await run(id);
	for (const [body, message] of [
		[{ rating: 'down', note: 'x'.repeat(2_001) }, /note: at most 2000 characters/],
		[{ rating: 'down', note: '' }, /note: must not be empty/],
		[{ rating: 'good' }, /rating: /],
		[{ note: 'x' }, /rating: /],
		[{ rating: 'up', by: 'ada' }, /by/],
	] as const) {
		const refused = await rate(id, runId, body);
		expect(refused.status).toBe(400);
		expect((await refused.json<{ error: { message: string } }>()).error.message).toMatch(message);
	}
	expect((await rate(id, runId, { rating: 'down', note: '😀'.repeat(1_000) })).status).toBe(200);
});

test('pages list each rating once, the newest first, whatever the page size', async () => {
	const id = await createSession();
	const runs: string[] = [];
	for (let n = 0; n < 7; n++) runs.push(await run(id));
	for (const [n, runId] of runs.entries()) await rate(id, runId, { rating: n % 2 === 0 ? 'up' : 'down' });
	await expect.poll(async () => (await ofSession(id)).length).toBe(7);
	const all = (await ofSession(id)).map(({ runId }) => runId);
	expect(new Set(all)).toEqual(new Set(runs));
	for (const limit of [1, 3, 100]) {
		const seen: string[] = [];
		for (let cursor: string | undefined = ''; cursor !== undefined; ) {
			const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
			const page: Page = await (await request(`/v1/feedback?limit=${limit}&agent=scripted${more}`)).json();
			seen.push(...page.feedback.flatMap(({ sessionId, runId }) => (sessionId === id ? [runId] : [])));
			cursor = page.cursor;
		}
		expect(seen, `${limit} a page`).toEqual(all);
	}
});

test('a rating that is given while the directory is down is listed later, even after a crash', async () => {
	vi.spyOn(console, 'warn').mockImplementation(() => {});
	const id = await createSession();
	const runId = await run(id);
	const down = vi.spyOn(DirectoryStore.prototype, 'putFeedback').mockImplementation(() => {
		throw new Error('It is down.');
	});
	try {
		expect((await rate(id, runId, { rating: 'down' })).status).toBe(200);
		await expect.poll(() => down.mock.calls.length).toBeGreaterThan(0);
		await restart(id);
	} finally {
		down.mockRestore();
	}
	expect(await ofSession(id)).toEqual([]);
	await querySession(id, 'UPDATE outbox SET due_at = 0');
	await runDurableObjectAlarm(readObject(id));
	await expect.poll(() => ofSession(id)).toMatchObject([{ runId, rating: 'down' }]);
	vi.restoreAllMocks();
});

const createPeople = async () => {
	const [shop, other] = [`shop-${crypto.randomUUID()}`, `other-${crypto.randomUUID()}`];
	const { keys, bindings } = await createKeys({
		server: { owner: shop },
		kim: { owner: shop, user: 'kim', role: 'staff' },
		ada: { owner: shop, user: 'ada', role: 'customer' },
		ben: { owner: shop, user: 'ben', role: 'customer' },
		stranger: { owner: other },
		operator: { owner: 'operator', scopes: ['admin'] },
	});
	type Name = keyof typeof keys;
	const askWith =
		(key: string): Ask =>
		async (path, body, method = body === undefined ? 'GET' : 'POST') =>
			worker.request(
				`https://runlet.example.com${path}`,
				{
					method,
					headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
					...(body && { body: JSON.stringify(body) }),
				},
				bindings,
			);
	const by = (name: Name) => askWith(keys[name]);
	const chat = async (name: Name, more: object = {}) => {
		play('Today.');
		const body = { agent: 'scripted', text: 'When?', ...more };
		return (await by(name)('/v1/sessions', body)).json<{ id: string; token: string; runId: string }>();
	};
	return { shop, other, by, chat, askWith };
};

test('customers rate only their own answers, also by a token, and never see the list', async () => {
	const { by, chat, askWith } = await createPeople();
	const [adas, bens] = [await chat('ada'), await chat('server', { user: 'ben' })];
	const up = { rating: 'up' };
	expect((await by('ada')(toPath(adas.id, adas.runId), up, 'PUT')).status).toBe(200);
	expect((await askWith(bens.token)(toPath(bens.id, bens.runId), { rating: 'down' }, 'PUT')).status).toBe(200);
	for (const name of ['ben', 'stranger', 'operator'] as const)
		for (const [body, method] of [
			[up, 'PUT'],
			[undefined, 'DELETE'],
		] as const)
			expect((await by(name)(toPath(adas.id, adas.runId), body, method)).status, name).toBe(
				name === 'operator' ? 403 : 404,
			);
	expect((await askWith(bens.token)(toPath(adas.id, adas.runId), up, 'PUT')).status).toBe(404);
	for (const who of [by('ada'), by('ben'), askWith(adas.token)])
		for (const query of ['', '?user=ada', '?owner=*']) expect((await who(`/v1/feedback${query}`)).status).toBe(403);
	await expect.poll(async () => (await list('', by('kim'))).length).toBe(2);
});

test('staff see the ratings of their owner only, and an operator those of all owners', async () => {
	const { shop, other, by, chat } = await createPeople();
	const [adas, theirs] = [await chat('ada'), await chat('stranger', { user: 'ada' })];
	await by('ada')(toPath(adas.id, adas.runId), { rating: 'down', note: 'Bad.' }, 'PUT');
	await by('stranger')(toPath(theirs.id, theirs.runId), { rating: 'down' }, 'PUT');
	const seen = async (name: Parameters<typeof by>[0], query = '') =>
		(await list(query, by(name))).map(({ sessionId, user, owner }) => [sessionId, user, owner]);
	await expect.poll(() => seen('kim')).toEqual([[adas.id, 'ada', undefined]]);
	await expect.poll(() => seen('stranger')).toEqual([[theirs.id, 'ada', undefined]]);
	expect(await seen('kim', '&user=ben')).toEqual([]);
	for (const owner of [other, '*']) expect((await by('kim')(`/v1/feedback?owner=${owner}`)).status).toBe(403);
	expect(await seen('operator', `&owner=${shop}`)).toEqual([[adas.id, 'ada', shop]]);
	const all = await seen('operator', '&owner=*&user=ada');
	expect(all).toEqual(
		expect.arrayContaining([
			[adas.id, 'ada', shop],
			[theirs.id, 'ada', other],
		]),
	);
});

test('a rating goes with its session and with its person', async () => {
	const { by, chat } = await createPeople();
	const [one, two, kept] = [await chat('ada'), await chat('ada'), await chat('ben')];
	for (const { id, runId } of [one, two, kept]) await by('server')(toPath(id, runId), { rating: 'up' }, 'PUT');
	const sessions = async () => (await list('', by('kim'))).map(({ sessionId }) => sessionId).toSorted();
	await expect.poll(sessions).toEqual([one.id, two.id, kept.id].toSorted());
	const person = await (await by('server')('/v1/users/ada')).text();
	expect(person.match(/"feedback":\{"rating":"up"/g)).toHaveLength(4);
	await by('server')(`/v1/sessions/${one.id}`, undefined, 'DELETE');
	await expect.poll(sessions).toEqual([two.id, kept.id].toSorted());
	await by('server')('/v1/users/ada', undefined, 'DELETE');
	expect(await sessions()).toEqual([kept.id]);
});

test('runlet/client rates an answer, lists the rating and removes it', async () => {
	const id = await createSession();
	const runId = await run(id);
	const client = createClient('http://localhost', { fetch: (input, init) => SELF.fetch(new Request(input, init)) });
	expect(await client.rateRun(id, runId, { rating: 'down', note: 'No.' })).toMatchObject({
		rating: 'down',
		note: 'No.',
	});
	await expect
		.poll(async () => (await client.listFeedback({ rating: 'down', limit: 1 })).feedback)
		.toMatchObject([{ sessionId: id, runId, note: 'No.' }]);
	await client.unrateRun(id, runId);
	await expect.poll(() => ofSession(id)).toEqual([]);
});
