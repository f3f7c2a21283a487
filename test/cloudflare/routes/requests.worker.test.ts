/** `GET /v1/requests/:request`, and the ids of requests that lead to a session. */
import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { allEvents, createSession, follow, readState, request, restart, send } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker, { remembering } from '../../worker.ts';
import { connect } from '../mcp/client.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';

interface Found {
	readonly session: { readonly id: string };
	readonly run?: { readonly id: string; readonly status: string; readonly error?: { readonly code: string } };
	readonly newest?: { readonly id: string };
	readonly links: Readonly<Record<string, string>>;
}

const withSession = /^req_[0-9a-f-]{36}_[0-9a-f]{64}$/;
const readId = ({ headers }: Pick<Response, 'headers'>): string => headers.get('x-request-id') ?? '';
const find = async (id: string): Promise<Found> => {
	const response = await request(`/v1/requests/${id}`);
	expect(response.status, await response.clone().text()).toBe(200);
	return response.json();
};
const say = (session: string, text: string, more: object = {}) =>
	request(`/v1/sessions/${session}/messages`, { text, ...more }, { prefer: 'respond-async' });
const runOf = async (response: Response) => (await response.json<{ runId: string }>()).runId;

afterEach(() => {
	remembering.hold = async () => {};
	vi.restoreAllMocks();
});

describe('the id of a request leads to its session', () => {
	const ui = (id: string) => ({ id, messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
	const completion = { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] };
	const stream = { accept: 'text/event-stream' };
	const webhook = () => {
		const body = JSON.stringify({ id: crypto.randomUUID(), message: 'Hi' });
		const about = { id: crypto.randomUUID(), at: Math.floor(Date.now() / 1_000), secrets: [senders.hmac.secret] };
		return request('/v1/webhooks/hooked/hmac', JSON.parse(body), senders.hmac.headers(body, about));
	};
	const ways: Readonly<Record<string, (session: string) => Promise<Response>>> = {
		'a new session': () => request('/v1/sessions', { agent: 'scripted' }),
		'a new session with a message': () => request('/v1/sessions', { agent: 'scripted', text: 'Hi' }),
		'a new session with a stream': () => request('/v1/sessions', { agent: 'scripted', text: 'Hi' }, stream),
		'a new session with an Idempotency-Key': () =>
			request('/v1/sessions', { agent: 'scripted', text: 'Hi' }, { 'idempotency-key': crypto.randomUUID() }),
		'a message': (session) => request(`/v1/sessions/${session}/messages`, { text: 'Hi' }),
		'a message with a stream': (session) => send(session, 'Hi'),
		'a message without waiting': (session) => say(session, 'Hi'),
		'a read': (session) => request(`/v1/sessions/${session}`),
		'a file': (session) => request(`/v1/sessions/${session}/files`),
		'a refused continuation': (session) => request(`/v1/sessions/${session}/continue`, {}),
		'a fork': async (session) => {
			await (await send(session, 'Hi')).text();
			return request(`/v1/sessions/${session}/fork`, {});
		},
		'a webhook': webhook,
		'a completion': () => request('/v1/chat/completions', completion),
		'a message of Anthropic’s': () => request('/v1/messages', completion),
		'a message of Anthropic’s with a stream': () => request('/v1/messages', { ...completion, stream: true }),
		'a completion with a stream': () => request('/v1/chat/completions', { ...completion, stream: true }),
		'a completion of a session with a name': () =>
			request('/v1/chat/completions', completion, { 'runlet-session': crypto.randomUUID() }),
		'a page': () => request('/v1/ui/scripted', ui(crypto.randomUUID())),
	};

	test.each(Object.entries(ways))('of %s', async (_, ask) => {
		play('One.', 'Two.');
		const session = await createSession();
		const response = await ask(session);
		const body = await response.text();
		const id = readId(response);
		expect(id).toMatch(withSession);
		const { session: found, links } = await find(id);
		const named =
			response.headers.get('runlet-session') ??
			response.headers.get('location')?.split('/').at(-1) ??
			/"sessionId":"(\w+)"/.exec(body)?.[1] ??
			session;
		expect(found.id).toBe(named);
		expect(links).toEqual({
			session: `/v1/sessions/${named}`,
			messages: `/v1/sessions/${named}/messages`,
			export: `/v1/sessions/${named}/export`,
			page: `/#/sessions/${named}`,
		});
		await allEvents(await follow(named));
	});

	test('of an MCP client', async () => {
		const ids: string[] = [];
		const client = await connect('/mcp/scripted', {
			fetch: async (sent) => {
				const response = await request(new URL(sent.url).pathname, await sent.json(), Object.fromEntries(sent.headers));
				ids.push(readId(response));
				return response;
			},
		});
		play('Hi.');
		const { structuredContent } = await client.callTool({ name: 'agent_start', arguments: { text: 'Hi' } });
		const { sessionId, runId } = Object(structuredContent);
		await allEvents(await follow(sessionId));
		expect(await find(ids.at(-1) ?? '')).toMatchObject({ session: { id: sessionId }, run: { id: runId } });
		await client.close();
	});

	test('which a client cannot choose', async () => {
		const session = await createSession();
		const chosen = readId(await request(`/v1/sessions/${session}`));
		const response = await request('/v1/agents', undefined, { 'x-request-id': chosen });
		expect(readId(response)).toMatch(/^req_[0-9a-f-]{36}$/);
	});
});

describe('the run of a request', () => {
	test('is the run that its message began, joined or waits for, in a session with several runs', async () => {
		const session = await createSession();
		const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
		play(
			'First.',
			() => gates[0].promise.then(() => 'Second.'),
			'Steered.',
			() => gates[1].promise.then(() => 'Third.'),
		);
		const first = await send(session, 'one');
		await allEvents(first);
		const second = await say(session, 'two');
		const steering = await say(session, 'and', { whenBusy: 'steer' });
		const third = await say(session, 'three');
		const runs = [await runOf(second), await runOf(third)];
		expect(await find(readId(third))).toMatchObject({
			run: { id: runs[1], status: 'waiting' },
			newest: { id: runs[0] },
		});
		expect(await find(readId(steering))).toMatchObject({ run: { id: runs[0], status: 'running' } });
		gates[0].resolve();
		await vi.waitUntil(async () => Object(await readState(session)).run?.id === runs[1]);
		expect(await find(readId(third))).toMatchObject({ run: { id: runs[1], status: 'running' } });
		gates[1].resolve();
		await allEvents(await follow(session));
		await restart(session);
		const found = await Promise.all([first, second, steering, third].map((response) => find(readId(response))));
		const [one, ...more] = found.map(({ run }) => run);
		expect(more).toEqual([runs[0], runs[0], runs[1]].map((id) => ({ id, status: 'completed' })));
		expect(one?.status).toBe('completed');
		expect(new Set([one?.id, ...runs]).size).toBe(3);
		for (const { newest } of found) expect(newest).toEqual({ id: runs[1], status: 'completed' });
	});

	test('has its error', async () => {
		const session = await createSession();
		play(() => {
			throw new Error('no');
		});
		const response = await request(`/v1/sessions/${session}/messages`, { text: 'Hi' });
		const { error } = await response.json<{ error: { code: string } }>();
		expect(await find(readId(response))).toMatchObject({ run: { status: 'error', error: { code: error.code } } });
	});

	test('is that of the newer request if a message is sent again', async () => {
		const session = await createSession();
		play('One.', 'Two.');
		const first = await send(session, 'Hi');
		await allEvents(first);
		const [message] = (await (await request(`/v1/sessions/${session}/messages`)).json<{ messages: { id: string }[] }>())
			.messages;
		const again = await request(`/v1/sessions/${session}/messages`, { replaces: message?.id });
		const { runId } = await again.json<{ runId: string }>();
		expect((await find(readId(again))).run?.id).toBe(runId);
		expect((await find(readId(first))).run?.id).not.toBe(runId);
	});

	test('is found for an approval and for a continuation, which have no message', async () => {
		const session = await createSession();
		play(
			{ toolCalls: [{ id: 'p', name: 'pay', input: { amount: 5 } }] },
			() => Promise.reject(new Error('no')),
			'Paid.',
		);
		await allEvents(await send(session, 'Pay'));
		const approval = await request(`/v1/sessions/${session}/tool-results`, [{ id: 'p', approve: true }]);
		await approval.text();
		const continuation = await request(`/v1/sessions/${session}/continue`, {}, { prefer: 'respond-async' });
		const runId = await runOf(continuation);
		await allEvents(await follow(session));
		expect(await find(readId(approval))).toMatchObject({ run: { status: 'error' }, newest: { id: runId } });
		expect(await find(readId(continuation))).toMatchObject({ run: { id: runId, status: 'completed' } });
	});

	test('is unknown for a request that begins no run, and for an id that only stands in a text', async () => {
		const session = await createSession();
		const read = readId(await request(`/v1/sessions/${session}`));
		play('One.');
		await allEvents(await send(session, `My request was "requestId":"${read}".`));
		const found = await find(read);
		expect(found).not.toHaveProperty('run');
		expect(found.newest).toMatchObject({ status: 'completed' });
	});
});

describe('the session of a request', () => {
	let bindings: Record<string, unknown>;
	let keys: Readonly<Record<'alice' | 'kim' | 'ada' | 'bob' | 'root', string>>;

	beforeAll(async () => {
		({ keys, bindings } = await createKeys({
			alice: ['run'],
			kim: { owner: 'alice', user: 'kim', role: 'staff' },
			ada: { owner: 'alice', user: 'ada', role: 'customer' },
			bob: ['run'],
			root: ['admin'],
		}));
	});

	const ask = (key: string, path: string, body?: object, method = body === undefined ? 'GET' : 'POST') =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method,
				headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
				...(body !== undefined && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	const create = async (key: string) => {
		const response = await ask(key, '/v1/sessions', { agent: 'scripted' });
		return { request: readId(response), ...(await response.json<{ id: string; token: string }>()) };
	};

	test('is found by staff of its owner, also for a customer’s request, and by an admin key', async () => {
		const { request: id, id: session } = await create(keys.ada);
		for (const key of [keys.kim, keys.alice, keys.root]) {
			const response = await ask(key, `/v1/requests/${id}`);
			expect(response.status).toBe(200);
			expect(await response.json()).toMatchObject({ id, session: { id: session, user: 'ada' } });
		}
	});

	test('is refused to customers and to the holders of its token', async () => {
		const { request: id, token } = await create(keys.ada);
		for (const key of [keys.ada, token]) expect((await ask(key, `/v1/requests/${id}`)).status).toBe(403);
	});

	test('of another owner, of a removed session, or of a false id is not found, and the answer tells nothing', async () => {
		const { request: id, id: session } = await create(keys.alice);
		const removed = await create(keys.bob);
		expect((await ask(keys.bob, `/v1/sessions/${removed.id}`, undefined, 'DELETE')).status).toBe(204);
		const [random = ''] = id.split(`_${session}`);
		const ids = {
			'of another owner': id,
			'of a removed session': removed.request,
			'without a session': random,
			truncated: id.slice(0, -1),
			longer: `${id}0`,
			'in upper case': id.toUpperCase(),
			'of an unknown session': `${random}_${'0'.repeat(64)}`,
			'of a session that never was': `${random}_${env.SESSIONS.newUniqueId()}`,
			forged: `req_${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}_${session}`,
			'the session alone': session,
			'of another form': '..%2f..',
		};
		for (const [what, one] of Object.entries(ids)) {
			const response = await ask(keys.bob, `/v1/requests/${one}`);
			expect(response.status, what).toBe(404);
			expect(await response.text(), what).toBe('{"error":{"code":"not_found","message":"There is no such session."}}');
			expect(readId(response), what).toMatch(/^req_[0-9a-f-]{36}$/);
		}
	});

	test('is not in the id of a refused request', async () => {
		const { id, token } = await create(keys.alice);
		const refused = [
			await ask(keys.bob, `/v1/sessions/${id}`),
			await ask(keys.bob, `/v1/sessions/${id}/messages`, { text: 'Hi' }),
			await ask(`${token.slice(0, -43)}${'A'.repeat(43)}`, `/v1/sessions/${id}`),
			await ask(keys.alice, '/v1/sessions'),
		];
		expect(refused.map(({ status }) => status)).toEqual([404, 404, 401, 200]);
		for (const response of refused) expect(readId(response)).toMatch(/^req_[0-9a-f-]{36}$/);
	});

	test('is also named by an id that somebody made up for a session of their own, which has no run then', async () => {
		const { id } = await create(keys.alice);
		const forged = `req_${'0'.repeat(8)}-0000-4000-8000-${'0'.repeat(12)}_${id}`;
		const found = await (await ask(keys.alice, `/v1/requests/${forged}`)).json<Found>();
		expect(found.session.id).toBe(id);
		expect(found).not.toHaveProperty('run');
	});
});

describe('the logs', () => {
	const lines: Record<string, unknown>[] = [];
	const watch = () => {
		lines.length = 0;
		for (const level of ['info', 'warn', 'error'] as const)
			vi.spyOn(console, level).mockImplementation((line) => void lines.push(JSON.parse(String(line))));
	};
	const linesOf = (event: string) => lines.filter((line) => line.event === event);
	const failOnce = () => {
		remembering.hold = async () => {
			throw new TypeError('no');
		};
		return { toolCalls: [{ id: 'a', name: 'remember', input: { key: 'k' } }] };
	};

	test('of a request, of its run and of a tool that throws share the ids', async () => {
		const session = await createSession();
		watch();
		play(failOnce(), 'Sorry.');
		const response = await send(session, 'Hi');
		await allEvents(response);
		const id = readId(response);
		const { run } = await find(id);
		const ids = { 'runlet.request.id': id, 'gen_ai.conversation.id': session, 'runlet.run.id': run?.id };
		expect(linesOf('http.request')[0]).toMatchObject(ids);
		expect(linesOf('tool.threw')).toMatchObject([ids]);
		const counts = { 'runlet.run.tool_calls': 1, 'runlet.run.tool_failures': 1 };
		expect(linesOf('run')).toMatchObject([{ ...ids, ...counts }]);
	});

	test.each([
		['a stream', () => request('/v1/sessions', { agent: 'scripted', text: 'Hi' }, { accept: 'text/event-stream' })],
		['a result', () => request('/v1/sessions', { agent: 'scripted', text: 'Hi' })],
		['no result yet', () => request('/v1/sessions', { agent: 'scripted', text: 'Hi' }, { prefer: 'respond-async' })],
		[
			'a completion',
			() => request('/v1/chat/completions', { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }] }),
		],
		[
			'the stream of a page',
			() =>
				request('/v1/ui/scripted', {
					id: crypto.randomUUID(),
					messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
				}),
		],
	])('of a request that is answered by %s have the id of its run', async (_, ask) => {
		watch();
		play('Hi.');
		const response = await ask();
		await response.text();
		await vi.waitUntil(() => linesOf('run').length === 1);
		const [asked, ran] = [linesOf('http.request')[0], linesOf('run')[0]];
		expect(asked?.['runlet.run.id']).toMatch(/^run_/);
		for (const name of ['runlet.run.id', 'runlet.request.id', 'gen_ai.conversation.id'])
			expect(asked?.[name], name).toBe(ran?.[name]);
	});

	test('of a run that a message from the queue begins have the id of the message’s request', async () => {
		const session = await createSession();
		watch();
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => 'One.'), 'Two.');
		const responses = [await say(session, 'one'), await say(session, 'two')];
		gate.resolve();
		await vi.waitUntil(() => linesOf('run').length === 2);
		expect(linesOf('run').map((line) => line['runlet.request.id'])).toEqual(responses.map(readId));
	});

	test('of a run that an approval continues have the id of the approval', async () => {
		const session = await createSession();
		watch();
		play({ toolCalls: [{ id: 'p', name: 'pay', input: { amount: 1 } }] }, 'Paid.');
		const asked = await send(session, 'Pay.');
		await allEvents(asked);
		const approved = await request(`/v1/sessions/${session}/tool-results`, [{ id: 'p', approve: true }]);
		await approved.text();
		expect(linesOf('run').map((line) => line['runlet.request.id'])).toEqual([asked, approved].map(readId));
	});

	test('of a run that survives a crash keep the id of its request', async () => {
		const session = await createSession();
		watch();
		play(() => new Promise(() => {}));
		const response = await say(session, 'Hi');
		await response.text();
		await restart(session);
		play('Done.');
		await allEvents(await follow(session));
		expect(linesOf('run')).toMatchObject([{ 'runlet.request.id': readId(response), 'runlet.run.lives': 2 }]);
	});
});
