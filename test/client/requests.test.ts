import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ClientError } from '../../src/client/index.ts';
import {
	type Answer,
	cutStream,
	done,
	end,
	error,
	failure,
	hangUp,
	json,
	one,
	say,
	silentStream,
	start,
	stream,
	texts,
	three,
	toWire,
	two,
	types,
} from './server.ts';

describe('an answer of the server', () => {
	test('is returned unchanged, including restarted turns and unknown events', async () => {
		const events = [
			{ type: 'run.started', runId: 'r', attempt: 1 },
			say('The answ'),
			{ type: 'turn.restarted', iteration: 1 },
			say('The answer.'),
			{ type: 'data-weather', degrees: 7 },
			done,
		];
		await using server = await start([stream(...events.map((event, index) => toWire(String(index), event)))]);
		expect(await Array.fromAsync(server.client.sendMessage('s', 'Go'))).toEqual(events);
	});

	test('is read without its invalid events', async () => {
		const odd = ['no JSON', '{"type":7}', 'null', '[]', '"done"'].map((data) => `id: odd\ndata: ${data}\n\n`);
		await using server = await start([stream(...odd, one, end)]);
		expect(await types(server.client.followRun('s'))).toEqual(['text', 'done']);
	});

	test('that reports an expired token throws that error without a retry', async () => {
		await using server = await start([
			stream(one, 'event: closed\ndata: {"type":"closed","code":"auth","message":"This token is over."}\n\n'),
		]);
		const events = server.client.followRun('s');
		await events.next();
		expect(await failure(events.next())).toMatchObject({ code: 'auth', message: 'This token is over.' });
		expect(server.requests).toHaveLength(1);
	});

	test('yields no events if no run exists, or if other tool calls still wait', async () => {
		await using server = await start([
			(response) => response.writeHead(204).end(),
			json(200, { id: 's', status: 'awaiting_tools' }),
		]);
		expect(await types(server.client.followRun('s'))).toEqual([]);
		expect(await types(server.client.submitResults('s', [{ id: 'c', output: 1 }]))).toEqual([]);
		expect(server.requests[1]).toMatchObject({
			route: 'POST /v1/sessions/s/tool-results',
			body: [{ id: 'c', output: 1 }],
		});
	});

	test('throws invalid_answer if it is not from Runlet', async () => {
		const page: Answer = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
		await using server = await start([page]);
		const { client } = server;
		const works = [
			() => client.listAgents(),
			() => types(client.followRun('s')),
			() => types(client.sendMessage('s', 'Go')),
		];
		for (const work of works)
			expect(await failure(work())).toMatchObject({
				code: 'invalid_answer',
				message: expect.stringContaining('baseUrl'),
			});
		expect(server.requests).toHaveLength(3);
	});

	test('with a permanent error throws that error without a retry', async () => {
		await using server = await start([error(409, 'conflict')]);
		const { client } = server;
		const works = [
			() => client.getSession('s'),
			() => types(client.sendMessage('s', 'Go')),
			() => types(client.followRun('s')),
			() => client.cancelRun('s'),
		];
		for (const work of works) {
			const cause = await failure(work());
			expect(cause).toBeInstanceOf(ClientError);
			expect(cause).toMatchObject({
				code: 'conflict',
				message: 'It is conflict.',
				status: 409,
				data: { field: 'x' },
			});
		}
		expect(server.requests).toHaveLength(4);
	});
});

describe('a request', () => {
	test('that fails for a transient reason is repeated with the same Idempotency-Key', async () => {
		await using server = await start([hangUp, error(500, 'internal'), json(201, { id: 's' })]);
		expect(await server.client.createSession({ agent: 'a' })).toEqual({ id: 's' });
		const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
		expect(keys).toEqual([expect.any(String), keys[0], keys[0]]);
	});

	test('fails after two retries', async () => {
		await using server = await start([hangUp]);
		const { client } = server;
		for (const work of [() => client.listAgents(), () => types(client.sendMessage('s', 'Go'))]) {
			server.requests.length = 0;
			expect(await failure(work())).toMatchObject({ code: 'unreachable', status: undefined });
			expect(server.requests).toHaveLength(3);
		}
	});

	test('sends the current API key', async () => {
		const keys = ['first', 'second', undefined];
		await using server = await start([json(200, { agents: [] })], { apiKey: () => keys.shift() });
		for (let n = 0; n < 3; n++) await server.client.listAgents();
		const sent = server.requests.map(({ headers }) => headers.authorization);
		expect(sent).toEqual(['Bearer first', 'Bearer second', undefined]);
	});

	test('that creates a session with a message does not wait for the run', async () => {
		await using server = await start([json(202, { id: 's', runId: 'r' })]);
		const { runId } = await server.client.createSession({ agent: 'a', text: 'Go' });
		expect(runId).toBe('r');
		expect(server.requests[0]?.headers.prefer).toBe('respond-async');
	});

	test('for the history of a session reads all pages', async () => {
		await using server = await start([
			json(200, { messages: [{ id: '1' }], cursor: 'a b' }),
			json(200, { messages: [{ id: '2' }] }),
		]);
		expect(await server.client.listMessages('s/1')).toEqual([{ id: '1' }, { id: '2' }]);
		expect(server.routes()).toEqual([
			'GET /v1/sessions/s%2F1/messages',
			'GET /v1/sessions/s%2F1/messages?cursor=a%20b',
		]);
	});
});

describe('a reader', () => {
	test('that returns later continues after its last event', async () => {
		await using server = await start([silentStream(one, two), stream(three, end)]);
		const events = server.client.sendMessage('s', 'Go');
		for await (const event of events) if (event.type === 'text' && event.text === 'two') break;
		expect(events.lastEventId).toBe('2');
		const rest = server.client.followRun('s', { lastEventId: events.lastEventId });
		expect(await texts(rest)).toEqual(['three', 'done']);
		expect(rest.lastEventId).toBe('end');
		expect(server.lastEventIds()).toEqual([undefined, '2']);
	});

	test('that stops early closes its connection', async () => {
		const closed = Promise.withResolvers<void>();
		await using server = await start([
			(response) => {
				void once(response, 'close').then(() => closed.resolve());
				return silentStream(one)(response, { route: '', headers: {}, body: undefined });
			},
		]);
		for await (const _ of server.client.followRun('s')) break;
		await closed.promise;
	});

	test.for([
		['a request', hangUp, { retryDelayMs: 60_000 }],
		['an answer', () => {}, {}],
		['an event', silentStream(one), {}],
		['a retry', cutStream(one), { retryDelayMs: 60_000 }],
	] as const)('that aborts while it waits for %s stops at once, with its reason', async ([, answer, options]) => {
		const asked = Promise.withResolvers<void>();
		await using server = await start(
			[
				(response, request) => {
					asked.resolve();
					return answer(response, request);
				},
			],
			options,
		);
		const aborter = new AbortController();
		const read = failure(
			(async () => {
				for await (const _ of server.client.sendMessage('s', 'Go', { signal: aborter.signal }));
			})(),
		);
		await asked.promise;
		aborter.abort('enough');
		expect(await read).toBe('enough');
		expect(server.requests).toHaveLength(1);
	});

	test('with an aborted signal makes no request', async () => {
		await using server = await start([json(200, {})]);
		const signal = AbortSignal.abort('before');
		expect(await failure(server.client.getSession('s', { signal }))).toBe('before');
		expect(await failure(types(server.client.sendMessage('s', 'Go', { signal })))).toBe('before');
		expect(server.requests).toEqual([]);
	});
});
