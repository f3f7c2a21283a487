import { beforeAll, describe, expect, test, vi } from 'vitest';
import { hashKey, type KeyRecord, makeKey } from '../../../src/cloudflare/auth/key.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

const owner = `shop-${crypto.randomUUID().slice(0, 8)}`;
const credentials: Record<'admin' | 'staff' | 'customer', string> = { admin: '', staff: '', customer: '' };
let bindings: Record<string, unknown>;
let operator: string;

beforeAll(async () => {
	const records: (KeyRecord & { readonly hash: string })[] = [];
	for (const role of ['admin', 'staff', 'customer'] as const) {
		const { key, id } = makeKey();
		credentials[role] = key;
		const user = role === 'customer' ? { user: 'ada' } : {};
		records.push({ id, owner, role, ...user, hash: await hashKey(key), scopes: ['run'] });
	}
	const { key, id } = makeKey();
	operator = key;
	records.push({ id, owner: 'operator', hash: await hashKey(key), scopes: ['run', 'admin'] });
	({ bindings } = await createKeys({}, { API_KEYS: JSON.stringify(records), DAY_BUDGET_TOKENS: 'none' }));
});

function ask(path: string, { as = credentials.admin, method = 'GET', body = undefined as object | undefined } = {}) {
	return worker.request(
		`https://runlet.example.com/v1/${path}`,
		{
			method,
			headers: { authorization: `Bearer ${as}`, ...(body && { 'content-type': 'application/json' }) },
			...(body && { body: JSON.stringify(body) }),
		},
		bindings,
	);
}

const post = (path: string, body: object, as?: string) => ask(path, { method: 'POST', body, as });

interface Made {
	readonly id: string;
	readonly status: string;
	readonly token: string;
}

async function create(user: string, text = 'Hello', agent = 'scripted'): Promise<Made> {
	play({ text: 'Hi.', stopReason: 'end_turn', usage: { inputTokens: 60, outputTokens: 40 } });
	const response = await post('sessions', { agent, user, text });
	expect(response.status).toBe(201);
	return response.json<Made>();
}

describe('GET and DELETE /v1/users/:user', () => {
	test('exports the sessions, files, memories and spending of one person only', async () => {
		const [one, two, other] = [await create('ada whole'), await create('ada whole', 'Again'), await create('ben')];
		const file = await worker.request(
			`https://runlet.example.com/v1/sessions/${one.id}/files/notes.txt`,
			{ method: 'PUT', headers: { authorization: `Bearer ${credentials.admin}` }, body: 'A secret of Ada.' },
			bindings,
		);
		expect(file.status).toBeLessThan(300);
		expect((await ask('memories/tone.md?user=ada%20whole', { method: 'PUT', body: { text: 'Short.' } })).status).toBe(
			201,
		);
		expect((await ask('memories/tone.md?user=ben', { method: 'PUT', body: { text: 'Long.' } })).status).toBe(201);
		const text = await (await ask('users/ada%20whole', { as: credentials.staff })).text();
		const exported = JSON.parse(text);
		expect(exported).toMatchObject({
			owner,
			user: 'ada whole',
			memories: [{ path: 'tone.md', text: 'Short.' }],
			usage: [{ spent: { tokens: 200 } }],
			budget: { caps: {}, total: { spent: { tokens: 200 } } },
		});
		const ids: string[] = exported.sessions.map(({ session }: { session: { id: string } }) => session.id);
		expect(ids.sort()).toEqual([one.id, two.id].sort());
		expect(text).toContain(btoa('A secret of Ada.'));
		expect(text).not.toContain(other.id);
		expect(text).not.toContain('Long.');
	});

	test('erases all data of a person, even during a run, but keeps other people’s data and all sums', async () => {
		const [one, other] = [await create('zoe'), await create('ben')];
		await ask('memories/a.md?user=zoe', { method: 'PUT', body: { text: 'Kept.' } });
		play({ toolCalls: [{ id: 'a', name: 'slow', input: {} }] });
		const running = await worker.request(
			'https://runlet.example.com/v1/sessions',
			{
				method: 'POST',
				headers: {
					authorization: `Bearer ${credentials.admin}`,
					'content-type': 'application/json',
					prefer: 'respond-async',
				},
				body: JSON.stringify({ agent: 'scripted', user: 'zoe', text: 'go' }),
			},
			bindings,
		);
		const { id } = await running.json<Made>();
		const erased = await ask('users/zoe', { method: 'DELETE' });
		expect([erased.status, await erased.json()]).toEqual([200, { user: 'zoe', sessions: 2, isDone: true }]);
		for (const gone of [one.id, id]) expect((await ask(`sessions/${gone}`)).status).toBe(404);
		expect((await ask(`sessions/${other.id}`)).status).toBe(200);
		expect(await (await ask('memories?user=zoe')).json()).toMatchObject({ memories: [] });
		const left = await (await ask('users/zoe')).json<{ sessions: []; memories: []; usage: object[] }>();
		expect([left.sessions, left.memories, left.usage.length]).toEqual([[], [], 1]);
		expect(await (await ask('users/zoe', { method: 'DELETE' })).json()).toMatchObject({ sessions: 0, isDone: true });
	});

	test('erases the child sessions of a person', async () => {
		const send = { id: 'b', name: 'send_off', input: { task: 'A poem.' } };
		play(
			{ toolCalls: [send] },
			{ toolCalls: [{ id: 'w', name: 'by_hand', input: {} }] },
			'It is under way.',
			'It is under way.',
		);
		const made = await post('sessions', { agent: 'editor', user: 'kid', text: 'go' });
		const { id } = await made.json<Made>();
		const { children } = await (await ask(`sessions/${id}`)).json<{ children: { id: string }[] }>();
		expect(children).toHaveLength(1);
		expect(await (await ask('users/kid', { method: 'DELETE' })).json()).toMatchObject({ isDone: true });
		const { sessions } = await (await ask('sessions?user=kid')).json<{ sessions: object[] }>();
		expect(sessions).toEqual([]);
		for (const gone of [id, ...children.map((child) => child.id)])
			await vi.waitFor(async () => expect((await ask(`sessions/${gone}`)).status).toBe(404), { timeout: 10_000 });
	});

	test('refuses customers, lets staff read, and lets a caller with the scope `admin` read other owners', async () => {
		for (const [path, method, body] of [
			['users/ada', 'GET'],
			['users/ada', 'DELETE'],
			['users/ada/budget', 'GET'],
			['users/ada/budget', 'PUT', {}],
		] as const) {
			const tried = (as: string) => ask(path, { as, method, body });
			expect((await tried(credentials.customer)).status).toBe(403);
			expect((await tried(credentials.staff)).status).toBe(method === 'GET' ? 200 : 403);
		}
		expect((await ask(`users/ada?owner=${owner}`, { as: operator })).status).toBe(200);
		expect((await ask('users/ada?owner=operator')).status).toBe(403);
		expect((await ask(`users/${encodeURIComponent('a\nb')}`)).status).toBe(400);
	});
});

describe('PUT /v1/users/:user/budget', () => {
	const set = (user: string, body: object) => ask(`users/${user}/budget`, { method: 'PUT', body });

	test('caps the spending of one person over all sessions, and caps nobody else', async () => {
		expect(await (await set('cap', { total: { tokens: 250 } })).json()).toMatchObject({
			caps: { total: { tokens: 250 } },
			total: { left: { tokens: 250 } },
		});
		let refused: object | undefined;
		for (let n = 0; n < 6 && refused === undefined; n++) {
			play({ text: 'Hi.', stopReason: 'end_turn', usage: { inputTokens: 60, outputTokens: 40 } });
			const response = await post('sessions', { agent: 'scripted', user: 'cap', text: 'Hello' });
			if (response.status === 402) refused = await response.json();
		}
		expect(refused).toMatchObject({ error: { code: 'budget_exceeded', data: { scope: 'user-total' } } });
		const { total } = await (await ask('users/cap/budget')).json<{ total: { spent: { tokens: number } } }>();
		expect(total.spent.tokens).toBeLessThanOrEqual(250);
		expect((await create('uncapped')).status).toBe('completed');
		expect(await (await set('cap', {})).json()).toMatchObject({ caps: {}, total: { limit: {} } });
		expect((await create('cap')).status).toBe('completed');
	});

	test('names a wrong field and changes nothing', async () => {
		await set('kept', { daily: { tokens: 5 } });
		for (const [body, field] of [
			[{ dayly: { tokens: 5 } }, 'dayly'],
			[{ daily: { tokens: -1 } }, 'daily.tokens'],
			[{ total: 5 }, 'total'],
		] as const) {
			const response = await set('kept', body);
			expect([response.status, await response.json()]).toMatchObject([400, { error: { data: { field } } }]);
		}
		expect(await (await ask('users/kept/budget')).json()).toMatchObject({ caps: { daily: { tokens: 5 } } });
	});
});
