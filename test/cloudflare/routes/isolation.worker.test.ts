/** Owners see nothing of each other, and neither do the customers of an owner. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeTokenKey, signToken } from '../../../src/cloudflare/auth/token.ts';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { readObject } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { createRandom, createSeed } from '../../endurance/random.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

type Named = 'alice' | 'bob' | 'admin' | 'eve' | 'kim';
let keys: Readonly<Record<Named, string>>;
let bindings: Record<string, unknown>;

interface Ask {
	readonly path: string;
	readonly method?: string | undefined;
	readonly body?: unknown;
	readonly headers?: Readonly<Record<string, string>> | undefined;
}

const ask = (credential: string, { path, method = 'GET', body, headers = {} }: Ask) =>
	worker.request(
		`https://runlet.example.com${path}`,
		{
			method,
			headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json', ...headers },
			...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
		},
		bindings,
	);

interface Session {
	readonly id: string;
	readonly token: string;
}

const create = async (key: string, more: object = {}): Promise<Session> =>
	(await ask(key, { path: '/v1/sessions', method: 'POST', body: { agent: 'scripted', ...more } })).json();

beforeAll(async () => {
	({ keys, bindings } = await createKeys({
		alice: ['run'],
		bob: ['run'],
		admin: ['admin'],
		eve: { owner: 'alice', user: 'eve', role: 'customer' },
		kim: { owner: 'alice', user: 'kim', role: 'customer' },
	}));
});

/** Every operation of a session, with its input. A new route must be added. */
const operations: Readonly<Record<string, { readonly body?: unknown; readonly needsKey?: true }>> = {
	'GET /': {},
	'PATCH /': { body: { budget: { tokens: 1_000_000 } }, needsKey: true },
	'DELETE /': { needsKey: true },
	'GET /export': { needsKey: true },
	'GET /trace': { needsKey: true },
	'POST /fork': { body: {}, needsKey: true },
	'POST /rerun': { body: { run: '0' }, needsKey: true },
	'POST /links': { body: { callId: 'x' }, needsKey: true },
	'POST /token': { body: {}, needsKey: true },
	'GET /messages': {},
	'POST /messages': { body: { text: 'Hello' } },
	'GET /messages/1000': {},
	'POST /answer': { body: { text: 'Yes' } },
	'POST /tool-results': { body: [{ id: 'call-1', output: 'done' }] },
	'POST /continue': {},
	'POST /step': {},
	[`DELETE /token/${'0'.repeat(16)}`]: { needsKey: true },
	'GET /files': {},
	'GET /files/notes/plan.md': {},
	'PUT /files/notes/plan.md': { body: 'mine' },
	'DELETE /files/notes/plan.md': {},
	'GET /changes': {},
	'GET /tasks': {},
	'GET /events': {},
	'POST /cancel': {},
	'GET /waiting': {},
	'DELETE /waiting/0': {},
	'PUT /runs/0/feedback': { body: { rating: 'up' } },
	'DELETE /runs/0/feedback': {},
};

test('the tests cover every operation of a session', () => {
	const routes = worker.routes
		.filter(({ path, method }) => path.startsWith('/v1/sessions/:id') && method !== 'ALL')
		.map(
			({ path, method }) =>
				`${method} ${
					path
						.slice('/v1/sessions/:id'.length)
						.replace(':message', '1000')
						.replace(':tokenId', '0'.repeat(16))
						.replace(':runId', '0')
						.replace(/:path\{.*\}$/, 'notes/plan.md') || '/'
				}`,
		);
	expect(new Set(routes)).toEqual(new Set(Object.keys(operations)));
});

async function seen(response: Response) {
	const { 'x-request-id': id, ...headers } = Object.fromEntries(response.headers);
	expect(id).toMatch(/^req_/);
	return { status: response.status, headers, body: await response.text() };
}

async function shown(key: string, sessions: readonly Session[]) {
	const paths = sessions.flatMap(({ id }) => [`/v1/sessions/${id}`, `/v1/sessions/${id}/messages`]);
	return Promise.all(['/v1/sessions', ...paths].map(async (path) => (await ask(key, { path })).text()));
}

test('a thousand requests of strangers to a session get 404 and change nothing', async () => {
	const seed = createSeed();
	const random = createRandom(seed);
	const pick = <T>(list: readonly T[]): T => {
		const one = list[random(0, list.length - 1)];
		if (one === undefined) throw new Error('an empty list');
		return one;
	};

	play('The answer.');
	const done = await create(keys.alice, { text: 'What?' });
	play({ toolCalls: [{ id: 'call-1', name: 'by_hand', input: {} }] });
	const waiting = await create(keys.alice, { text: 'Do it.' });
	const idle = await create(keys.alice);
	play('For Kim.');
	const kims = await create(keys.kim, { text: 'Mine.' });
	const mine = [done, waiting, idle, kims];
	const [bobs, eves] = [await create(keys.bob), await create(keys.eve)];
	const before = await shown(keys.alice, mine);
	const model = play('must never be said');

	// Another customer of the owner is a stranger, too, and so is the holder of a customer’s token.
	const strangers = [keys.bob, bobs.token, keys.eve, eves.token];
	const hex = () => Array.from({ length: 64 }, () => random(0, 15).toString(16)).join('');
	const unknown = () =>
		pick([
			() => hex(),
			() => env.SESSIONS.newUniqueId().toString(),
			() => env.SESSIONS.idFromName(JSON.stringify(['alice', null, 'idempotency', `${random(0, 9)}`])).toString(),
			() => env.LEDGERS.idFromName('alice').toString(),
			() => env.DIRECTORIES.idFromName('alice').toString(),
			() => env.PUBLISHERS.idFromName('skills').toString(),
			() => pick(['0', 'alice', '%00', '..%2f..', 'constructor', '__proto__', 'a'.repeat(2_000), hex().slice(1), '*']),
		])();
	const spoiled = (json: unknown) =>
		pick([json, json, json, '{', '[]', '{"text":7}', '{"__proto__":{"owner":"alice"}}', { owner: 'alice', text: 'x' }]);

	for (let n = 0; n < 1_000; n++) {
		const [operation, { body, needsKey }] = pick(Object.entries(operations));
		const [method = '', rest = ''] = operation.split(' ');
		const sent = body === undefined ? undefined : spoiled(body);
		const headers = pick<Record<string, string>>([
			{},
			{},
			{ accept: 'text/event-stream' },
			{ prefer: 'respond-async' },
			{ 'idempotency-key': `k${random(0, 9)}` },
			{ 'last-event-id': '1.1.0.0' },
			{ 'x-owner': 'alice', 'runlet-session': done.id },
		]);
		const session = pick(mine);
		const stranger = pick([...strangers, ...mine.filter((one) => one !== session).map(({ token }) => token)]);
		const at = async (id: string) =>
			seen(await ask(stranger, { path: `/v1/sessions/${id}${rest === '/' ? '' : rest}`, method, body: sent, headers }));
		const [foreign, none] = await Promise.all([at(session.id), at(unknown())]);
		const where = `try ${n} of seed ${seed}: ${operation} ${JSON.stringify(sent)}`;
		expect(foreign, where).toEqual(none);
		// Operations that no customer may use are refused before the session is read.
		if (needsKey && stranger === keys.eve) expect(foreign.status, where).toBe(403);
		else if (sent === body)
			expect([foreign.status, foreign.body], where).toEqual([
				404,
				'{"error":{"code":"not_found","message":"There is no such session."}}',
			]);
		else expect([400, 404], where).toContain(foreign.status);
	}
	expect(model.requests).toEqual([]);
	expect(await shown(keys.alice, mine)).toEqual(before);
});

describe('a wrong credential', () => {
	test('of any form is refused on every route of a session', async () => {
		const { id, token } = await create(keys.alice);
		const bobs = await create(keys.bob);
		const [, , tokenId = '', expiry = ''] = token.split('_');
		const mac = token.slice(-43);
		const tokenKey = await runInDurableObject(readObject(id), (_, ctx) =>
			String(ctx.storage.sql.exec('SELECT token_key FROM session').one().token_key),
		);
		const expiresAt = Math.floor(Date.now() / 1000);
		const expired = [
			await signToken({ session: id, id: tokenId, expiresAt: expiresAt - 1 }, tokenKey),
			await signToken({ session: id, id: tokenId, expiresAt: 0 }, tokenKey),
		];
		const forged = [
			await signToken({ session: id, id: tokenId, expiresAt: expiresAt + 1_000 }, makeTokenKey()),
			await signToken({ session: id, id: tokenId, expiresAt: expiresAt + 1_000 }, id),
			// Signed correctly, but given to nobody.
			await signToken({ session: id, id: '0'.repeat(16), expiresAt: expiresAt + 1_000 }, tokenKey),
			`rls_${id}_${tokenId}_${expiry}_${bobs.token.split('_').slice(4).join('_')}`,
			`rls_${id}_${tokenId}_zzzzzzz_${token.slice(-43)}`,
			`rls_${id}_${tokenId}_${expiry}_${'A'.repeat(43)}`,
			`rls_${id}_${tokenId}_${expiry}_${[...token.slice(-43, -1)].reverse().join('')}${token.slice(-1)}`,
		];
		const none = [
			token.slice(0, -1),
			`${token}A`,
			token.toUpperCase(),
			token.replace('rls_', 'rl_'),
			token.replace(`_${expiry}_`, `_0${expiry}_`),
			token.replace(`_${expiry}_`, `_-${expiry}_`),
			`rls_${id}_${expiry}`,
			`rls_${id}`,
			id,
			mac,
			keys.alice.slice(0, -1),
			`${keys.alice}A`,
			`rl__${keys.alice.slice(-43)}`,
			keys.alice.split('_').slice(0, 2).join('_'),
			`${keys.alice.split('_').slice(0, 2).join('_')}_${keys.bob.slice(-43)}`,
			'null',
			'undefined',
			'[object Object]',
			`${keys.alice},${keys.bob}`,
			`${keys.bob} ${keys.alice}`,
		];
		const opens = async (credential: string) => (await ask(credential, { path: `/v1/sessions/${id}` })).status;
		expect([await opens(token), await opens(keys.alice)]).toEqual([200, 200]);
		for (const credential of [...expired, ...forged, ...none]) {
			for (const [operation, { body }] of Object.entries(operations)) {
				const [method = '', rest = ''] = operation.split(' ');
				const response = await ask(credential, { path: `/v1/sessions/${id}${rest === '/' ? '' : rest}`, method, body });
				expect(response.status, `${operation} with ${credential}`).toBe(401);
				const text = await response.text();
				expect(text).toMatch(/^\{"error":\{"code":"auth","message":"Authorization: /);
				expect(text).not.toContain(credential);
			}
		}
		expect([await opens(token), await opens(keys.alice)]).toEqual([200, 200]);
	});

	test('can be a valid key in a wrong form: in upper case, in the query, in a cookie or with another scheme', async () => {
		const path = '/v1/sessions';
		const bare = async (headers: Readonly<Record<string, string>>, query = '') =>
			(await worker.request(`https://runlet.example.com${path}${query}`, { headers }, bindings)).status;
		const { alice } = keys;
		expect(await bare({ authorization: `bearer ${alice}` })).toBe(200);
		for (const authorization of [
			alice,
			`Basic ${btoa(`${alice}:`)}`,
			`Bearer${alice}`,
			`Token ${alice}`,
			`Bearer "${alice}"`,
			`Bearer ${alice} x`,
			'Bearer',
			'Bearer ',
		])
			expect(await bare({ authorization }), authorization).toBe(401);
		expect(await bare({ cookie: `authorization=Bearer ${alice}` })).toBe(401);
		expect(await bare({ 'x-api-key': `Bearer ${alice}` })).toBe(401);
		expect(await bare({ 'x-api-key': alice.toUpperCase() })).toBe(401);
		expect(await bare({}, `?api_key=${alice}&token=${alice}&authorization=Bearer%20${alice}`)).toBe(401);
	});
});

test('a token cannot do the operations of its session that need a key', async () => {
	const { id, token } = await create(keys.alice);
	for (const [operation, { body, needsKey }] of Object.entries(operations)) {
		const [method = '', rest = ''] = operation.split(' ');
		const { status } = await ask(token, { path: `/v1/sessions/${id}${rest === '/' ? '' : rest}`, method, body });
		if (needsKey) expect(status, operation).toBe(403);
		else expect([200, 201, 204, 404, 409], operation).toContain(status);
	}
	const elsewhere = worker.routes.filter(
		({ path, method }) =>
			path.startsWith('/v1/') &&
			!/^\/v1\/(me$|sessions\/:id|(responses|conversations)\/:|webhooks\/|decisions\/|mcp\/(client\.json|callback)$|a2a\/:agent\/\.)/.test(
				path,
			) &&
			method !== 'ALL',
	);
	expect(elsewhere.map(({ method, path }) => `${method} ${path}`)).toContain('POST /v1/sessions');
	const said = [{ role: 'user', content: 'Hello', parts: [{ type: 'text', text: 'Hello' }] }];
	const messages = said.map(({ role, content }) => ({ role, content }));
	const bodies: Readonly<Record<string, object>> = {
		'/v1/sessions': { agent: 'scripted' },
		'/v1/chat/completions': { model: 'scripted', messages },
		'/v1/messages': { model: 'scripted', messages },
		'/v1/messages/count_tokens': { model: 'scripted', messages },
		'/v1/responses': { model: 'scripted', input: 'Hello' },
		'/v1/responses/compact': { model: 'scripted', input: 'Hello' },
		'/v1/conversations': {},
		'/v1/ui/:agent': { id: 'elsewhere', messages: said },
		'/v1/a2a/:agent': {
			jsonrpc: '2.0',
			id: 1,
			method: 'SendMessage',
			params: { message: { messageId: 'm', contextId: 'elsewhere', role: 'ROLE_USER', parts: [{ text: 'Hello' }] } },
		},
		'/v1/ag-ui/:agent': { threadId: 'elsewhere', runId: 'r', messages: said },
	};
	const markdown = '---\nname: x\ndescription: X.\n---\nX.';
	for (const { path, method } of elsewhere) {
		const isSkill = method === 'PUT';
		const response = await ask(token, {
			path: path.replace(/:\w+/g, 'x'),
			method,
			...(isSkill && { body: markdown, headers: { 'content-type': 'text/markdown' } }),
			...(method === 'POST' && { body: bodies[path] }),
		});
		expect(response.status, `${method} ${path}`).toBe(403);
	}
});

test('an owner, a customer and a token cannot reach a response or a conversation of somebody else', async () => {
	play('For Alice.', { toolCalls: [{ id: 'p', name: 'pay', input: { amount: 3 } }] }, 'Not this.');
	const respond = (key: string, body: object) =>
		ask(key, { path: '/v1/responses', method: 'POST', body: { model: 'scripted', input: 'Hello', ...body } });
	const { id, output } = await (await respond(keys.alice, {})).json<{ id: string; output: { id: string }[] }>();
	const session = id.slice('resp_'.length, 'resp_'.length + 64);
	await respond(keys.alice, { previous_response_id: id });
	const { token } = await create(keys.alice);
	for (const stranger of [keys.bob, keys.eve, token]) {
		const [response, conversation] = [`/v1/responses/${id}`, `/v1/conversations/conv_${session}`];
		const isToken = stranger === token;
		for (const [method, path] of [
			['GET', response],
			['GET', `${response}?stream=true`],
			['GET', `${response}/input_items`],
			['POST', `${response}/cancel`],
			['GET', conversation],
			['GET', `${conversation}/items`],
		] as const)
			expect((await ask(stranger, { method, path })).status, path).toBe(404);
		for (const path of [response, conversation]) {
			const { status } = await ask(stranger, { method: 'DELETE', path });
			expect(status, path).toBe(stranger === keys.bob ? 404 : 403);
		}
		const approval = { type: 'mcp_approval_response', approval_request_id: `mcpr_${session}_p`, approve: true };
		for (const body of [
			{ previous_response_id: id },
			{ conversation: `conv_${session}` },
			{ input: [approval] },
			{
				input: [
					{ type: 'item_reference', id: output[0]?.id },
					{ role: 'user', content: 'Hello' },
				],
			},
			{ input: [{ type: 'function_call_output', call_id: `call_${session}_p`, output: 'paid' }] },
		])
			expect((await respond(stranger, body)).status, JSON.stringify(body)).toBe(isToken ? 403 : 404);
	}
	const { status, toolCalls } = await (await ask(keys.alice, { path: `/v1/sessions/${session}` })).json<{
		status: string;
		toolCalls: object[];
	}>();
	expect([status, toolCalls]).toMatchObject(['awaiting_tools', [{ id: 'p' }]]);
});

test('an owner’s spending is separate from other owners’ spending, and hidden from customers and tokens', async () => {
	const alices = await create(keys.alice);
	const bobs = await create(keys.bob);
	const own = await runInDurableObject(readObject(alices.id), (one) => readConfig(Reflect.get(one, 'env')));
	const before = Object.getOwnPropertyDescriptors(own);
	Object.assign(own, { findDayBudget: () => ({ tokens: 100_000 }) });
	try {
		const readDay = async (credential: string, id: string) =>
			Object(await (await ask(credential, { path: `/v1/sessions/${id}` })).json()).dayBudget?.spent?.tokens;
		const [earlier, bobsEarlier] = [await readDay(keys.alice, alices.id), await readDay(keys.bob, bobs.id)];
		play({ text: 'done', usage: { inputTokens: 40, outputTokens: 2 } });
		await ask(keys.alice, { path: `/v1/sessions/${alices.id}/messages`, method: 'POST', body: { text: 'go' } });
		// The alarm returns the rest of the lease.
		expect(await runDurableObjectAlarm(readObject(alices.id))).toBe(true);
		await expect.poll(() => readDay(keys.alice, alices.id)).toBe(earlier + 42);
		expect(await readDay(keys.bob, bobs.id)).toBe(bobsEarlier);
		expect(await readDay(alices.token, alices.id)).toBeUndefined();
		expect(await readDay(keys.kim, (await create(keys.kim)).id)).toBeUndefined();
	} finally {
		Object.defineProperties(own, before);
	}
});

test('a list has only the caller’s own sessions, even with the cursor of another owner', async () => {
	const alices = [await create(keys.alice), await create(keys.alice)].map(({ id }) => id);
	const bobs = [await create(keys.bob), await create(keys.bob), await create(keys.bob)].map(({ id }) => id);
	const list = async (key: string, query: string) =>
		(await ask(key, { path: `/v1/sessions${query}` })).json<{ sessions?: { id: string }[]; cursor?: string }>();
	const { cursor, sessions: [newest] = [] } = await list(keys.alice, '?limit=1');
	expect(alices).toContain(newest?.id);
	for (const query of [`?cursor=${cursor}`, '?owner=alice', '?limit=100', `?cursor=${cursor}&owner=alice`]) {
		const { sessions = [] } = await list(keys.bob, query);
		const listed = sessions.map(({ id }) => id);
		expect(listed.filter((id) => alices.includes(id))).toEqual([]);
	}
	expect((await list(keys.bob, '?limit=100')).sessions?.map(({ id }) => id)).toEqual(expect.arrayContaining(bobs));
});

test('two owners can use the same Idempotency-Key, and get separate sessions and runs', async () => {
	const once = (key: string) => ({ 'idempotency-key': key });
	const made = async (credential: string, key: string) =>
		(
			await (
				await ask(credential, { path: '/v1/sessions', method: 'POST', body: { agent: 'scripted' }, headers: once(key) })
			).json<Session>()
		).id;
	const ids = [];
	for (const key of ['k', 'bob', 'alice', 'alice-k', 'idempotency', '%20k', 'bob%20k']) {
		ids.push(await made(keys.alice, key), await made(keys.bob, key));
	}
	expect(new Set(ids).size).toBe(ids.length);
	const { id } = await create(keys.alice);
	const bobs = await create(keys.bob);
	const send = (credential: string, session: string) =>
		ask(credential, {
			path: `/v1/sessions/${session}/messages`,
			method: 'POST',
			body: { text: 'Hello' },
			headers: once('the-same'),
		});
	play('to Alice', 'to Bob');
	expect(await (await send(keys.alice, id)).text()).toContain('to Alice');
	expect(await (await send(keys.bob, bobs.id)).text()).toContain('to Bob');
	expect((await send(keys.bob, id)).status).toBe(404);
});

test.each(['/v1/chat/completions', '/v1/messages'])(
	'a client of %s cannot reach a session of another owner by its id or its name',
	async (path) => {
		const complete = async (credential: string, session: string) => {
			const body = { model: 'scripted', messages: [{ role: 'user', content: 'Hello' }] };
			const headers = { 'runlet-session': session };
			const response = await ask(credential, { path, method: 'POST', body, headers });
			const text = (await response.text()).replace(/req_[\w-]+/, '');
			return { status: response.status, id: response.headers.get('runlet-session'), text };
		};
		play('to Alice', 'to Bob', 'to Alice again');
		const { id } = await create(keys.alice);
		const foreign = await complete(keys.bob, id);
		expect(foreign).toEqual(await complete(keys.bob, env.SESSIONS.newUniqueId().toString()));
		expect(foreign.status).toBe(404);
		const [alices, bobs] = [await complete(keys.alice, path), await complete(keys.bob, path)];
		expect([alices.text, bobs.text]).toEqual([expect.stringContaining('to Alice'), expect.stringContaining('to Bob')]);
		expect(alices.id).not.toBe(bobs.id);
		expect((await complete(keys.alice, path)).id).toBe(alices.id);
		expect((await complete(keys.bob, alices.id ?? '')).status).toBe(404);
		for (const name of ['alice scripted the same', 'bob', '../the same', 'idempotency alice k', '0'.repeat(64)])
			expect((await complete(keys.bob, name)).id).not.toBe(alices.id);
	},
);

test('two users of one owner get two sessions for the same Idempotency-Key, name or chat', async () => {
	const names = ['kim', 'eve', 'alice'] as const;
	const ids: string[] = [];
	const note = async (made: Response | Promise<Response>) => {
		const response = await made;
		const text = await response.text();
		expect(response.status, text).toBeLessThan(300);
		const id = response.headers.get('runlet-session') ?? response.headers.get('location')?.split('/').at(-1);
		ids.push(id ?? '');
	};
	const said = [{ role: 'user', content: 'Hello' }];
	const chat = { id: 'the same', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] };
	const completion = { model: 'scripted', messages: said };
	for (const name of names) {
		const post = (path: string, body: object, headers?: Ask['headers']) => {
			play('Hi.');
			return note(ask(keys[name], { path, method: 'POST', body, headers }));
		};
		await post('/v1/sessions', { agent: 'scripted' }, { 'idempotency-key': 'the-same' });
		await post('/v1/chat/completions', completion, { 'runlet-session': 'the same' });
		await post('/v1/chat/completions', completion, { 'idempotency-key': 'the-other' });
		await post('/v1/chat/completions', completion, { 'x-stainless-retry-count': '0' });
		await post('/v1/ui/scripted', chat);
		await note(
			ask(keys[name], {
				path: '/v1/chat/completions',
				method: 'POST',
				body: completion,
				headers: { 'x-stainless-retry-count': '1' },
			}),
		);
		expect(ids.at(-1)).toBe(ids.at(-3));
		ids.pop();
	}
	for (const user of ['kim', 'eve', 'lee']) {
		play('Hi.', 'Hi.');
		const post = (headers: Record<string, string>) =>
			note(ask(keys.alice, { path: '/v1/chat/completions', method: 'POST', body: { ...completion, user }, headers }));
		await post({ 'runlet-session': 'the same' });
		expect(ids.filter((id) => id === ids.at(-1))).toHaveLength(user === 'lee' ? 1 : 2);
		if (user !== 'lee') ids.pop();
	}
	expect(ids).not.toContain('');
	expect(new Set(ids).size).toBe(ids.length);
});
