import { runInDurableObject } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import { signToken } from '../../../src/cloudflare/auth/token.ts';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { allEvents, readEvents, readObject } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

let keys: Readonly<Record<'alice', string>>;
let bindings: Record<string, unknown>;
beforeAll(async () => {
	({ keys, bindings } = await createKeys({ alice: ['run'] }));
});

interface Given {
	readonly id: string;
	readonly token: string;
	readonly tokenId: string;
	readonly tokenScopes: readonly string[];
	readonly [more: string]: unknown;
}

const ask = (credential: string, path: string, body?: unknown, headers: Record<string, string> = {}, method?: string) =>
	worker.request(
		`https://runlet.example.com${path}`,
		{
			method: method ?? (body === undefined ? 'GET' : 'POST'),
			headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json', ...headers },
			...(body !== undefined && { body: JSON.stringify(body) }),
		},
		bindings,
	);
const create = async () => (await ask(keys.alice, '/v1/sessions', { agent: 'scripted' })).json<Given>();
const makeToken = async (id: string, asked: object = {}) =>
	(await ask(keys.alice, `/v1/sessions/${id}/token`, asked)).json<Given>();
const revoke = (id: string, tokenId: string, credential = keys.alice) =>
	ask(credential, `/v1/sessions/${id}/token/${tokenId}`, undefined, {}, 'DELETE');
const streamed = { accept: 'text/event-stream' };

/** Requests by the scope that they need. */
const requests = (id: string): Readonly<Record<string, readonly (readonly [string, unknown?, string?])[]>> => ({
	read: [
		[`/v1/sessions/${id}`],
		[`/v1/sessions/${id}/messages`],
		[`/v1/sessions/${id}/messages/65536`],
		[`/v1/sessions/${id}/events`],
		[`/v1/ui/scripted/${id}/stream`],
		[`/v1/ui/scripted/${id}/messages`],
	],
	message: [
		[`/v1/sessions/${id}/messages`, { text: 'Hello' }],
		[`/v1/sessions/${id}/answer`, { text: 'Hello' }],
		[`/v1/sessions/${id}/continue`, {}],
		[`/v1/sessions/${id}/step`, {}],
		[`/v1/sessions/${id}/cancel`, {}],
		[`/v1/sessions/${id}/tool-results`, [{ id: 'a', output: 1 }]],
		[
			'/v1/ui/scripted',
			{ id, trigger: 'submit-message', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] },
		],
		['/v1/ag-ui/scripted', { threadId: id, runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi' }] }],
		[`/v1/ui/scripted/${id}/stream`, undefined, 'DELETE'],
	],
	approve: [
		[`/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: true }]],
		[`/v1/sessions/${id}/tool-results`, [{ id: 'a', approve: false }]],
	],
});

describe('the scopes of a token', () => {
	test.each([
		[['read']],
		[['message']],
		[['approve']],
		[['read', 'approve']],
		[['read', 'message', 'approve']],
	] as const)('%j allow only the requests of these scopes', async (scopes) => {
		const { id } = await create();
		const { token, tokenScopes } = await makeToken(id, { scopes });
		expect(tokenScopes).toEqual(scopes);
		for (const [scope, all] of Object.entries(requests(id)))
			for (const [path, body, method] of all) {
				play('Hello.');
				const response = await ask(token, path, body, {}, method);
				const where = `${scopes.join()}: ${method ?? ''} ${path} ${JSON.stringify(body)}`;
				if (scopes.some((one) => one === scope)) expect([401, 403], where).not.toContain(response.status);
				else expect(response.status, where).toBe(403);
				await response.body?.cancel();
			}
	});

	test('`message` and `approve` are both needed for a request with a result and a decision', async () => {
		const { id } = await create();
		const both = [
			{ id: 'a', approve: true },
			{ id: 'b', output: 1 },
		];
		for (const scopes of [['message'], ['approve']]) {
			const { token } = await makeToken(id, { scopes });
			expect((await ask(token, `/v1/sessions/${id}/tool-results`, both)).status).toBe(403);
		}
	});

	test('are `read` and `message` by default, without `approve`', async () => {
		const { id, token, tokenScopes } = await create();
		expect(tokenScopes).toEqual(['read', 'message']);
		const paid = play({ toolCalls: [{ id: 'a', name: 'pay', input: { amount: 5 } }] }, 'Paid.');
		await (await ask(token, `/v1/sessions/${id}/messages`, { text: 'Pay.' })).json();
		const approval = [{ id: 'a', approve: true }];
		const refused = await ask(token, `/v1/sessions/${id}/tool-results`, approval);
		expect(refused.status).toBe(403);
		expect(await refused.json()).toMatchObject({ error: { code: 'forbidden', data: { scope: 'approve' } } });
		// AI SDK pages post all messages, which gives no more rights.
		const part = {
			type: 'tool-pay',
			toolCallId: 'a',
			state: 'approval-responded',
			input: { amount: 5 },
			approval: { id: 'a', approved: true },
		};
		const posted = { id, trigger: 'submit-message', messages: [{ id: 'm', role: 'assistant', parts: [part] }] };
		expect((await ask(token, '/v1/ui/scripted', posted)).status).toBe(403);
		expect(await (await ask(token, `/v1/sessions/${id}`)).json()).toMatchObject({ status: 'awaiting_tools' });
		expect(paid.requests).toHaveLength(1);
		const clerk = await makeToken(id, { scopes: ['approve'] });
		const allowed = await ask(clerk.token, `/v1/sessions/${id}/tool-results`, approval);
		expect(await allowed.json()).toMatchObject({ status: 'completed', text: 'Paid.' });
	});

	test.each([[[]], [['admin']], [['read', 'run']], ['read'], [['read', 'read', 'read', 'read']]])(
		'cannot be %j',
		async (scopes) => {
			const { id } = await create();
			expect((await ask(keys.alice, `/v1/sessions/${id}/token`, { scopes })).status).toBe(400);
		},
	);
});

describe('a revoked token', () => {
	test('is refused, and other tokens stay valid', async () => {
		const { id, token, tokenId } = await create();
		const other = await makeToken(id);
		expect(other.tokenId).not.toBe(tokenId);
		expect((await revoke(id, tokenId)).status).toBe(204);
		const refused = await ask(token, `/v1/sessions/${id}`);
		expect(refused.status).toBe(401);
		expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining('revoked') } });
		expect((await ask(other.token, `/v1/sessions/${id}`)).status).toBe(200);
		expect((await revoke(id, tokenId)).status).toBe(404);
		expect((await revoke(id, 'x')).status).toBe(404);
	});

	test('was revoked by its owner, because neither a token nor another owner can revoke it', async () => {
		const { id, token, tokenId } = await create();
		const other = await makeToken(id, { scopes: ['read', 'message', 'approve'] });
		expect((await revoke(id, tokenId, token)).status).toBe(403);
		expect((await revoke(id, tokenId, other.token)).status).toBe(403);
		const bobs = await createKeys({ bob: ['run'] });
		const path = `https://runlet.example.com/v1/sessions/${id}/token/${tokenId}`;
		const init = { method: 'DELETE', headers: { authorization: `Bearer ${bobs.keys.bob}` } };
		expect((await worker.request(path, init, bobs.bindings)).status).toBe(404);
		expect((await ask(token, `/v1/sessions/${id}`)).status).toBe(200);
	});

	test('is not returned to a repeated request, which gets a new token', async () => {
		const once = { 'idempotency-key': crypto.randomUUID() };
		const made = async () => (await ask(keys.alice, '/v1/sessions', { agent: 'scripted' }, once)).json<Given>();
		const first = await made();
		expect((await made()).token).toBe(first.token);
		await revoke(first.id, first.tokenId);
		const again = await made();
		expect(again.id).toBe(first.id);
		expect(again.token).not.toBe(first.token);
		expect((await ask(again.token, `/v1/sessions/${again.id}`)).status).toBe(200);
	});

	test('can be a token whose key was revoked, and is refused even if the owner has another key', async () => {
		const { id, token } = await create();
		const { token: second } = await makeToken(id);
		// The session’s object has the test’s environment, in which no key is revoked.
		const own = await runInDurableObject(readObject(id), (object) => readConfig(Reflect.get(object, 'env')));
		const { knowsKey } = own;
		const keyId = keys.alice.split('_')[1];
		Object.assign(own, { knowsKey: (key: string) => key !== keyId });
		for (const one of [token, second]) {
			const response = await ask(one, `/v1/sessions/${id}`);
			expect(response.status).toBe(401);
			expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('revoked') } });
		}
		Object.assign(own, { knowsKey });
		expect((await ask(token, `/v1/sessions/${id}`)).status).toBe(200);
	});
});

describe('a stream that is read with a token', () => {
	/** A session with an active run, and its streams: of the message, of the events, of an AI SDK page. */
	async function running(asked: object = {}) {
		const { id } = await create();
		const made = await makeToken(id, asked);
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => 'Done.'));
		const streams = [
			await ask(made.token, `/v1/sessions/${id}/messages`, { text: 'Go' }, streamed),
			await ask(made.token, `/v1/sessions/${id}/events`, undefined, streamed),
			await ask(made.token, `/v1/ui/scripted/${id}/stream`),
		];
		expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
		return { ...made, id, streams, gate };
	}

	async function endsOf(streams: readonly Response[]): Promise<readonly string[]> {
		return Promise.all(streams.map(async (stream) => (await stream.text()).slice(-400)));
	}

	test('ends with an event when the token is revoked, and the run and other readers continue', async () => {
		const { id, tokenId, streams, gate } = await running();
		const owner = await ask(keys.alice, `/v1/sessions/${id}/events`, undefined, streamed);
		const other = await ask((await makeToken(id)).token, `/v1/sessions/${id}/events`, undefined, streamed);
		expect((await revoke(id, tokenId)).status).toBe(204);
		const [message = '', events = '', page = ''] = await endsOf(streams);
		for (const end of [message, events]) {
			expect(end).toMatch(/event: closed\ndata: \{"type":"closed","code":"auth","message":"[^"]*revoked[^"]*"\}\n\n$/);
			expect(end).not.toMatch(/event: (done|error|cancelled)/);
		}
		expect(page).toMatch(/data: \{"type":"error","errorText":"[^"]*revoked[^"]*"\}\n\ndata: \[DONE\]\n\n$/);
		gate.resolve();
		for (const reader of [owner, other]) expect((await allEvents(reader)).at(-1)).toMatchObject({ type: 'done' });
	});

	test('ends when the token expires, even while no events arrive', async () => {
		const { id, streams, gate } = await running();
		const expiresAt = Math.floor(Date.now() / 1_000) + 2;
		// The API makes no token with so short a time.
		const short = await runInDurableObject(readObject(id), async (_, { storage }) => {
			const tokenKey = String(storage.sql.exec('SELECT token_key FROM session').one().token_key);
			const tokenId = '0123456789abcdef';
			const values = [tokenId, 'local', 'read message', 0, expiresAt];
			storage.sql.exec(
				'INSERT INTO token (id, key_id, scopes, is_first, expires_at) VALUES (?, ?, ?, ?, ?)',
				...values,
			);
			return signToken({ session: id, id: tokenId, expiresAt }, tokenKey);
		});
		const reader = await ask(short, `/v1/sessions/${id}/events`, undefined, streamed);
		const page = await ask(short, `/v1/ui/scripted/${id}/stream`);
		expect([reader.status, page.status]).toEqual([200, 200]);
		const [event, chunk] = await endsOf([reader, page]);
		expect(Date.now()).toBeGreaterThanOrEqual(expiresAt * 1_000);
		expect(event).toMatch(/event: closed\ndata: \{[^\n]*has expired[^\n]*\}\n\n$/);
		expect(chunk).toContain('has expired');
		gate.resolve();
		expect((await endsOf(streams)).every((end) => !end.includes('expired'))).toBe(true);
	});

	test('ends when the key of the token is revoked', async () => {
		const { id, streams, gate } = await running();
		const own = await runInDurableObject(readObject(id), (object) => readConfig(Reflect.get(object, 'env')));
		const { knowsKey } = own;
		Object.assign(own, { knowsKey: () => false });
		gate.resolve();
		const ends = await endsOf(streams);
		Object.assign(own, { knowsKey });
		for (const end of ends) expect(end).toContain('came from a key that was revoked');
	});

	test('cannot be resumed with the ended token', async () => {
		const { id, token, tokenId, streams, gate } = await running();
		await revoke(id, tokenId);
		await endsOf(streams);
		for (const path of [`/v1/sessions/${id}/events`, `/v1/ui/scripted/${id}/stream`])
			expect((await ask(token, path)).status).toBe(401);
		gate.resolve();
	});

	test('shows the end of a run that ends while the token is valid', async () => {
		const { streams, gate, id } = await running();
		gate.resolve();
		const [stream, ...others] = streams;
		const types: string[] = [];
		if (stream !== undefined) for await (const { type } of readEvents(stream)) types.push(type);
		expect(types.at(-1)).toBe('done');
		for (const other of others) await other.body?.cancel();
		expect((await ask(keys.alice, `/v1/sessions/${id}`)).status).toBe(200);
	});
});

test('an Idempotency-Key of a page does not collide with the same key of its server', async () => {
	const { id, token } = await create();
	const once = { 'idempotency-key': 'order-1042', prefer: 'respond-async' };
	const path = `/v1/sessions/${id}/messages`;
	const { requests: asked } = play('To the page.', 'To the server.');
	const byPage = await ask(token, path, { text: 'Whatever' }, once);
	expect(byPage.status).toBe(202);
	// The server’s own request is neither refused nor answered with the page’s run.
	const byServer = await ask(keys.alice, path, { text: 'Ship order 1042.' }, once);
	expect(byServer.status).toBe(202);
	expect(byServer.headers.has('idempotent-replayed')).toBe(false);
	const { runId } = await byServer.json<{ runId: string }>();
	const again = await ask(keys.alice, path, { text: 'Ship order 1042.' }, once);
	expect(await again.json()).toEqual({ runId });
	expect((await ask(token, path, { text: 'Whatever' }, once)).headers.has('idempotent-replayed')).toBe(true);
	await expect.poll(() => asked.length).toBe(2);
	const cancel = { 'idempotency-key': 'cancel-1' };
	expect((await ask(token, `/v1/sessions/${id}/cancel`, {}, cancel)).status).toBe(200);
	expect((await ask(keys.alice, `/v1/sessions/${id}/continue`, {}, cancel)).status).not.toBe(200);
	const posted = {
		id,
		trigger: 'submit-message',
		messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
	};
	play('Hi.', 'Hi again.');
	expect((await ask(token, '/v1/ui/scripted', posted, { 'idempotency-key': 'chat' })).status).toBe(200);
	const owners = { ...posted, messages: [{ id: 'm2', role: 'user', parts: [{ type: 'text', text: 'Else' }] }] };
	expect((await ask(keys.alice, '/v1/ui/scripted', owners, { 'idempotency-key': 'chat' })).status).toBe(200);
});

test('an answer with a token is not cached', async () => {
	const { id } = await create();
	const once = { 'idempotency-key': crypto.randomUUID() };
	play('Hello.', 'Hello.');
	for (const response of [
		await ask(keys.alice, '/v1/sessions', { agent: 'scripted' }, once),
		await ask(keys.alice, '/v1/sessions', { agent: 'scripted' }, once),
		await ask(keys.alice, '/v1/sessions', { agent: 'scripted', text: 'Hi' }),
		await ask(keys.alice, '/v1/sessions', { agent: 'scripted', text: 'Hi' }, { prefer: 'respond-async' }),
		await ask(keys.alice, `/v1/sessions/${id}/token`, {}),
	]) {
		expect(response.headers.get('cache-control')).toBe('no-store');
		expect(await response.json()).toHaveProperty('token');
	}
});
