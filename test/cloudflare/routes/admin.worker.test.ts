/** The rights of a key with the scope admin in sessions of all owners. */
import { beforeAll, expect, test } from 'vitest';
import { readObject } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

type Named = 'ann' | 'ben' | 'admin' | 'boss';
let keys: Readonly<Record<Named, string>>;
let bindings: Record<string, unknown>;

beforeAll(async () => {
	({ keys, bindings } = await createKeys({ ann: ['run'], ben: ['run'], admin: ['admin'], boss: ['run', 'admin'] }));
});

const ask = (credential: string, path: string, { method = 'GET', body }: { method?: string; body?: unknown } = {}) =>
	worker.request(
		`https://runlet.example.com/v1/sessions${path}`,
		{
			method,
			headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
			...(body !== undefined && { body: JSON.stringify(body) }),
		},
		bindings,
	);

interface Listed {
	readonly id: string;
	readonly owner?: string;
	readonly lastActivityAt: string;
}

async function made(name: Named): Promise<{ readonly id: string; readonly token: string }> {
	play(`The answer for ${name}.`);
	const body = { agent: 'scripted', text: `Asked by ${name}.` };
	return (await ask(keys[name], '', { method: 'POST', body })).json();
}

async function list(credential: string, query: string): Promise<{ sessions: Listed[]; cursor?: string }> {
	const response = await ask(credential, query);
	expect(response.status, query).toBe(200);
	return response.json();
}

test('an admin key lists the sessions of one owner or of all owners', async () => {
	const [anns, bens] = [await made('ann'), await made('ben')];
	for (const admin of [keys.admin, keys.boss]) {
		await expect
			.poll(async () => (await list(admin, '?owner=ben&limit=100')).sessions.map(({ id }) => id))
			.toContain(bens.id);
		const of = async (owner: string) => (await list(admin, `?owner=${owner}&limit=100`)).sessions;
		expect((await of('ann')).map(({ id, owner }) => [id, owner])).toContainEqual([anns.id, 'ann']);
		expect((await of('ann')).map(({ id }) => id)).not.toContain(bens.id);
		const all = (await of('*')).map(({ id, owner }) => [id, owner]);
		expect(all).toEqual(
			expect.arrayContaining([
				[anns.id, 'ann'],
				[bens.id, 'ben'],
			]),
		);
		expect(await of('nobody-yet')).toEqual([]);
	}
});

test('the pages of all owners’ sessions list each session once, newest activity first', async () => {
	const ids: string[] = [];
	for (const name of ['ann', 'ben', 'ann', 'ann', 'ben'] as const) ids.push((await made(name)).id);
	const listed = async () => (await list(keys.admin, '?owner=*&limit=100')).sessions.map(({ id }) => id);
	await expect.poll(listed).toEqual(expect.arrayContaining(ids));
	const whole = (await list(keys.admin, '?owner=*&limit=100')).sessions;
	const paged: Listed[] = [];
	for (let cursor: string | undefined = ''; cursor !== undefined; ) {
		const page = await list(keys.admin, `?owner=*&limit=2${cursor && `&cursor=${cursor}`}`);
		expect(page.sessions.length).toBeLessThanOrEqual(2);
		paged.push(...page.sessions);
		cursor = page.cursor;
	}
	expect(paged.map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
	const times = whole.map(({ lastActivityAt }) => lastActivityAt);
	expect(times).toEqual([...times].sort().reverse());
});

test('the list of all owners’ sessions includes owners without keys', async () => {
	const gone = await createKeys({ leaver: ['run'] });
	play('Bye.');
	const response = await worker.request(
		'https://runlet.example.com/v1/sessions',
		{
			method: 'POST',
			headers: { authorization: `Bearer ${gone.keys.leaver}`, 'content-type': 'application/json' },
			body: JSON.stringify({ agent: 'scripted', text: 'Hello' }),
		},
		gone.bindings,
	);
	const { id } = await response.json<{ id: string }>();
	const all = async () => (await list(keys.admin, '?owner=*&limit=100')).sessions.map((one) => [one.id, one.owner]);
	await expect.poll(all).toContainEqual([id, 'leaver']);
});

test('an admin key reads the state, messages and events of other owners', async () => {
	const { id } = await made('ann');
	expect(await (await ask(keys.admin, `/${id}`)).json()).toMatchObject({ id, owner: 'ann', status: 'completed' });
	const { messages } = await (await ask(keys.admin, `/${id}/messages`)).json<{ messages: { id: string }[] }>();
	expect(messages).toMatchObject([{ content: 'Asked by ann.' }, { content: 'The answer for ann.' }]);
	const one = await ask(keys.admin, `/${id}/messages/${messages[1]?.id}`);
	expect(await one.json()).toMatchObject({ content: 'The answer for ann.' });
	expect(await (await ask(keys.admin, `/${id}/events`)).text()).toContain('The answer for ann.');
	expect(await (await ask(keys.ann, `/${id}`)).json()).not.toHaveProperty('owner');
});

test('only the owner and a key with the scope admin can export a session', async () => {
	const { id, token } = await made('ann');
	for (const key of [keys.admin, keys.boss, keys.ann]) {
		const response = await ask(key, `/${id}/export`);
		expect(await response.json()).toMatchObject({ session: { id, owner: 'ann' }, messages: [{ sender: 'ann' }, {}] });
	}
	expect((await ask(keys.ben, `/${id}/export`)).status).toBe(404);
	expect((await ask(token, `/${id}/export`)).status).toBe(403);
	expect((await ask(keys.admin, `/${'0'.repeat(64)}/export`)).status).toBe(404);
});

test('a key with the scope admin can export a user of another owner, but cannot erase or cap the user', async () => {
	play('The answer for kim.');
	const body = { agent: 'scripted', user: 'kim', text: 'Asked for kim.' };
	const { id } = await (await ask(keys.ann, '', { method: 'POST', body })).json<{ id: string }>();
	const askUser = async (credential: string, path: string, method = 'GET') =>
		worker.request(
			`https://runlet.example.com/v1/users/${path}`,
			{
				method,
				headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
				...(method === 'PUT' && { body: '{}' }),
			},
			bindings,
		);
	const readExport = async (credential: string): Promise<unknown> =>
		JSON.parse(await (await askUser(credential, 'kim?owner=ann')).text());
	const sessions = [{ session: { id }, messages: [{ content: 'Asked for kim.' }, { content: 'The answer for kim.' }] }];
	await expect.poll(() => readExport(keys.boss)).toMatchObject({ owner: 'ann', user: 'kim', sessions });
	expect(await readExport(keys.admin)).toMatchObject({ owner: 'ann', user: 'kim', sessions });
	expect((await askUser(keys.ben, 'kim?owner=ann')).status).toBe(403);
	expect(await (await askUser(keys.boss, 'kim', 'DELETE')).json()).toMatchObject({ sessions: 0 });
	for (const [path, method] of [
		['kim?owner=ann', 'DELETE'],
		['kim/budget?owner=ann', 'PUT'],
	] as const)
		expect((await askUser(keys.boss, path, method)).status, path).toBe(400);
	expect((await ask(keys.ann, `/${id}`)).status).toBe(200);
});

test('an admin key removes the session of another owner', async () => {
	const { id } = await made('ben');
	expect((await ask(keys.admin, `/${id}`, { method: 'DELETE' })).status).toBe(204);
	expect((await ask(keys.ben, `/${id}`)).status).toBe(404);
	expect((await ask(keys.admin, `/${id}`)).status).toBe(404);
	expect((await list(keys.ben, '?limit=100')).sessions.map((one) => one.id)).not.toContain(id);
	expect(await readObject(id).state({ owner: 'ben' })).toMatchObject({ ok: false, error: { code: 'not_found' } });
});

test('an admin key cannot send messages, answer or make tokens for other owners', async () => {
	const { id } = await made('ann');
	const before = await (await ask(keys.ann, `/${id}`)).text();
	const tries: [string, string, unknown?][] = [
		['POST', '/messages', { text: 'Hi' }],
		['POST', '/answer', { text: 'Hi' }],
		['POST', '/tool-results', [{ id: 'a', approve: true }]],
		['POST', '/continue'],
		['POST', '/step'],
		['POST', '/cancel'],
		['POST', '/token', {}],
		['PATCH', '', { budget: { tokens: 9_000_000 } }],
	];
	for (const [method, path, body] of tries) {
		expect((await ask(keys.admin, `/${id}${path}`, { method, body })).status, `admin ${path}`).toBe(403);
		expect((await ask(keys.boss, `/${id}${path}`, { method, body })).status, `run and admin ${path}`).toBe(404);
	}
	expect(await (await ask(keys.ann, `/${id}`)).text()).toBe(before);
});

test('a key without the scope admin sees only its own sessions', async () => {
	const [anns, bens] = [await made('ann'), await made('ben')];
	for (const owner of ['ben', '*', 'webhooks', 'local']) {
		const refused = await ask(keys.ann, `?owner=${owner}`);
		expect([refused.status, (await refused.json<{ error: { code: string } }>()).error.code]).toEqual([
			403,
			'forbidden',
		]);
		expect((await ask(anns.token, `?owner=${owner}`)).status).toBe(403);
	}
	expect((await list(keys.ann, '?owner=ann&limit=100')).sessions.map(({ id }) => id)).toContain(anns.id);
	for (const [method, path] of [
		['GET', ''],
		['GET', '/messages'],
		['GET', '/messages/65536'],
		['GET', '/events'],
		['GET', '/export'],
		['GET', '/trace'],
		['DELETE', ''],
	] as const)
		expect((await ask(keys.ann, `/${bens.id}${path}`, { method })).status, `${method} ${path}`).toBe(404);
	expect((await ask(keys.ben, `/${bens.id}`)).status).toBe(200);
});

test('refuses an invalid owner in the query, and names the field', async () => {
	for (const owner of ['', 'a%20b', '%C3%A9', 'x'.repeat(129)]) {
		const response = await ask(keys.admin, `?owner=${owner}`);
		expect(response.status, owner).toBe(400);
		expect((await response.json<{ error: { message: string } }>()).error.message).toMatch(/^owner: Expected/);
	}
});
