import { once } from 'node:events';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ClientError, type ClientOptions, createClient, type RunEvent } from '../../src/client/index.ts';
import { type Answer, cutStream, error, hangUp, json, silentStream, startServer, stream, toWire } from './server.ts';

const say = (text: string): RunEvent => ({ type: 'text', text });
const done = { type: 'done', text: '', usage: {} } as const;
const [one, two, three, end] = [
	toWire('1', say('one')),
	toWire('2', say('two')),
	toWire('3', say('three')),
	toWire('end', done),
];

/** Starts a server with these answers, and a client of it that does not wait. */
async function start(answers: readonly Answer[], options: ClientOptions = {}) {
	const server = await startServer(...answers);
	const client = createClient({ baseUrl: server.url, retryDelayMs: 0, ...options });
	return {
		...server,
		client,
		routes: () => server.requests.map(({ route }) => route),
		lastEventIds: () => server.requests.map(({ headers }) => headers['last-event-id']),
	};
}

const types = async (events: AsyncIterable<RunEvent>) => (await Array.fromAsync(events)).map(({ type }) => type);
const texts = async (events: AsyncIterable<RunEvent>) =>
	(await Array.fromAsync(events)).map((event) => (event.type === 'text' ? event.text : event.type));
const failure = async (work: Promise<unknown>): Promise<unknown> =>
	work.then(
		() => undefined,
		(cause: unknown) => cause,
	);

describe('a stream that drops', () => {
	test('is taken up behind the last whole event, wherever its bytes are cut', async () => {
		const said = ['añ😀', 'two\nlines', '', '{"type":"done"}', 'five'];
		const events = [...said.map(say), done];
		const wire = events.map((event, index) => toWire(String(index + 1), event));
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(400), { maxLength: 6 }), async (cuts) => {
				const left = [...cuts];
				await using server = await startServer((response, { headers }) => {
					const rest = Buffer.from(wire.slice(Number(headers['last-event-id'] ?? 0)).join(''));
					const cut = left.shift();
					response.writeHead(200, { 'content-type': 'text/event-stream' });
					response.write(': hello\n\n');
					if (cut === undefined || cut >= rest.length) response.end(rest);
					else response.write(rest.subarray(0, cut), () => response.destroy());
				});
				const client = createClient({ baseUrl: server.url, retryDelayMs: 0, streamRetries: cuts.length });
				expect(await Array.fromAsync(client.sendMessage('s', 'Go'))).toEqual(events);
			}),
			{ numRuns: 60 },
		);
	});

	test('before its first event is begun again under its own key, so that it is the same run', async () => {
		await using server = await start([cutStream(), stream(one, end)]);
		expect(await types(server.client.sendMessage('s', 'Go'))).toEqual(['text', 'done']);
		expect(server.routes()).toEqual(Array(2).fill('POST /v1/sessions/s/messages'));
		const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
		expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]]);
		expect(server.requests.map(({ body }) => body)).toEqual([{ text: 'Go' }, { text: 'Go' }]);
	});

	test('is taken up after a restart of the server that takes some tries', async () => {
		await using server = await start([
			cutStream(one),
			hangUp,
			error(503, 'overloaded'),
			error(500, 'internal'),
			stream(two, end),
		]);
		expect(await texts(server.client.sendMessage('s', 'Go'))).toEqual(['one', 'two', 'done']);
		expect(server.lastEventIds()).toEqual([undefined, '1', '1', '1', '1']);
	});

	test('without its last event has not ended', async () => {
		await using server = await start([stream(one), stream(two, end)]);
		expect(await texts(server.client.followRun('s'))).toEqual(['one', 'two', 'done']);
		expect(server.routes()).toEqual(Array(2).fill('GET /v1/sessions/s/events'));
	});

	test('is given up after so many drops in a row, and an event between them renews the tries', async () => {
		const drops = [one, two, three].map((event) => cutStream(event));
		await using server = await start([...drops, cutStream()], { streamRetries: 2 });
		const seen: RunEvent[] = [];
		const read = async () => {
			for await (const event of server.client.sendMessage('s', 'Go')) seen.push(event);
		};
		expect(await failure(read())).toMatchObject({ name: 'ClientError', code: 'connection_lost' });
		expect(seen).toEqual(['one', 'two', 'three'].map(say));
		expect(server.lastEventIds()).toEqual([undefined, '1', '2', '3', '3']);
	});

	test('tells why before each retry', async () => {
		const onRetry = vi.fn();
		await using server = await start([cutStream(one), error(503, 'overloaded', { 'retry-after': '0' }), stream(end)], {
			onRetry,
		});
		await types(server.client.followRun('s'));
		expect(onRetry.mock.calls).toEqual([
			[1, expect.objectContaining({ code: 'connection_lost' })],
			[2, expect.objectContaining({ code: 'overloaded', status: 503, retryAfterMs: 0 })],
		]);
	});
});

describe('time', () => {
	beforeEach(() => {
		vi.useFakeTimers({ now: 1_000_000 });
	});
	afterEach(() => {
		vi.useRealTimers();
		vi.restoreAllMocks();
	});

	/** A fetch that gives these, one after another, and fails after the last. */
	const answer = (...responses: readonly Response[]) => {
		const left = [...responses];
		return vi.fn(async () => {
			const response = left.shift();
			if (response === undefined) throw new TypeError('fetch failed');
			return response;
		});
	};
	const overloaded = (retryAfter: string) => {
		const headers = { 'retry-after': retryAfter };
		return Response.json({ error: { code: 'overloaded', message: 'Wait.' } }, { status: 503, headers });
	};
	const headers = { 'content-type': 'text/event-stream' };
	const toChunks = (pieces: readonly string[], controller: ReadableStreamDefaultController) => {
		for (const piece of pieces) controller.enqueue(new TextEncoder().encode(piece));
	};
	const events = (...pieces: string[]) => {
		const start = (controller: ReadableStreamDefaultController) => {
			toChunks(pieces, controller);
			controller.close();
		};
		return new Response(new ReadableStream({ start }), { headers });
	};
	const silent = (piece: string) => {
		const start = (controller: ReadableStreamDefaultController) => toChunks([piece], controller);
		return new Response(new ReadableStream({ start }), { headers });
	};

	test.for(['7', new Date(1_007_000).toUTCString()])(
		'that a server asks for is given to it: %s',
		async (retryAfter) => {
			const fetch = answer(events(one), overloaded(retryAfter), events(end));
			const read = types(createClient({ fetch, retryDelayMs: 1 }).sendMessage('s', 'Go'));
			await vi.advanceTimersByTimeAsync(1);
			expect(fetch).toHaveBeenCalledTimes(2);
			await vi.advanceTimersByTimeAsync(6_990);
			expect(fetch).toHaveBeenCalledTimes(2);
			await vi.advanceTimersByTimeAsync(10);
			expect(await read).toEqual(['text', 'done']);
		},
	);

	test('of more than a minute is not waited: the caller is told', async () => {
		const read = createClient({ fetch: answer(events(one), overloaded('3600')), retryDelayMs: 0 }).sendMessage(
			's',
			'Go',
		);
		expect((await read.next()).value).toEqual(say('one'));
		const rest = failure(read.next());
		await vi.advanceTimersByTimeAsync(0);
		expect(await rest).toMatchObject({ code: 'overloaded', status: 503, retryAfterMs: 3_600_000 });
	});

	test('between tries doubles, up to eight seconds', async () => {
		vi.spyOn(Math, 'random').mockReturnValue(1);
		const fetch = answer();
		const read = failure(types(createClient({ fetch, retryDelayMs: 1_000 }).followRun('s')));
		await vi.advanceTimersByTimeAsync(0);
		for (const [index, delay] of [1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000].entries()) {
			expect(fetch).toHaveBeenCalledTimes(index + 1);
			await vi.advanceTimersByTimeAsync(delay - 1);
			expect(fetch).toHaveBeenCalledTimes(index + 1);
			await vi.advanceTimersByTimeAsync(1);
		}
		expect(await read).toMatchObject({ code: 'connection_lost', cause: { code: 'unreachable' } });
	});

	test('without a sign of life drops the stream, which is taken up again', async () => {
		const fetch = answer(silent(one), events(two, end));
		const read = texts(createClient({ fetch, retryDelayMs: 0 }).sendMessage('s', 'Go'));
		await vi.advanceTimersByTimeAsync(44_999);
		expect(fetch).toHaveBeenCalledTimes(1);
		await vi.advanceTimersByTimeAsync(2);
		expect(await read).toEqual(['one', 'two', 'done']);
		expect(fetch).toHaveBeenLastCalledWith('/v1/sessions/s/events', expect.objectContaining({ method: 'GET' }));
	});

	test('without an answer fails the request', async () => {
		const fetch = vi.fn<typeof globalThis.fetch>(
			(_, init) =>
				new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))),
		);
		const asked = failure(createClient({ fetch, retryDelayMs: 0, idleMs: 100 }).listAgents());
		await vi.advanceTimersByTimeAsync(1_000);
		expect(await asked).toMatchObject({ code: 'unreachable' });
		expect(fetch).toHaveBeenCalledTimes(3);
	});

	test('that the reader takes is not held against the connection', async () => {
		const fetch = answer(events(one, two, end));
		const seen: string[] = [];
		for await (const { type } of createClient({ fetch }).followRun('s')) {
			seen.push(type);
			await vi.advanceTimersByTimeAsync(100_000);
		}
		expect(seen).toEqual(['text', 'text', 'done']);
		expect(fetch).toHaveBeenCalledTimes(1);
	});
});

describe('what a server says', () => {
	test('is given as it is: a turn that starts again, and kinds that nobody knows', async () => {
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

	test('is passed over where it is no event', async () => {
		const odd = ['no JSON', '{"type":7}', 'null', '[]', '"done"'].map((data) => `id: odd\ndata: ${data}\n\n`);
		await using server = await start([stream(...odd, one, end)]);
		expect(await types(server.client.followRun('s'))).toEqual(['text', 'done']);
	});

	test('ends with the reason where its token has ended, and is not asked for again', async () => {
		await using server = await start([
			stream(one, 'event: closed\ndata: {"type":"closed","code":"auth","message":"This token is over."}\n\n'),
		]);
		const events = server.client.followRun('s');
		await events.next();
		expect(await failure(events.next())).toMatchObject({ code: 'auth', message: 'This token is over.' });
		expect(server.requests).toHaveLength(1);
	});

	test('no run to follow is no event, nor is an answer while other calls wait', async () => {
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

	test('is told where it is not Runlet', async () => {
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

	test('an error is thrown in the words of the server, and is not tried again where that changes nothing', async () => {
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
	test('that fails for a passing reason is made again, under the same key where it changes something', async () => {
		await using server = await start([hangUp, error(500, 'internal'), json(201, { id: 's' })]);
		expect(await server.client.createSession({ agent: 'a' })).toEqual({ id: 's' });
		const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
		expect(keys).toEqual([expect.any(String), keys[0], keys[0]]);
	});

	test('is given up after two further tries', async () => {
		await using server = await start([hangUp]);
		const { client } = server;
		for (const work of [() => client.listAgents(), () => types(client.sendMessage('s', 'Go'))]) {
			server.requests.length = 0;
			expect(await failure(work())).toMatchObject({ code: 'unreachable', status: undefined });
			expect(server.requests).toHaveLength(3);
		}
	});

	test('has the key of the moment it is made', async () => {
		const keys = ['first', 'second', undefined];
		await using server = await start([json(200, { agents: [] })], { apiKey: () => keys.shift() });
		for (let n = 0; n < 3; n++) await server.client.listAgents();
		const sent = server.requests.map(({ headers }) => headers.authorization);
		expect(sent).toEqual(['Bearer first', 'Bearer second', undefined]);
	});

	test('for a session with a message does not wait for its run', async () => {
		await using server = await start([json(202, { id: 's', runId: 'r' })]);
		const { runId } = await server.client.createSession({ agent: 'a', text: 'Go' });
		expect(runId).toBe('r');
		expect(server.requests[0]?.headers.prefer).toBe('respond-async');
	});

	test('reads a history over all of its pages', async () => {
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
	test('that comes back later goes on behind the event that it saw', async () => {
		await using server = await start([silentStream(one, two), stream(three, end)]);
		const events = server.client.sendMessage('s', 'Go');
		for await (const event of events) if (event.type === 'text' && event.text === 'two') break;
		expect(events.lastEventId).toBe('2');
		const rest = server.client.followRun('s', { lastEventId: events.lastEventId });
		expect(await texts(rest)).toEqual(['three', 'done']);
		expect(rest.lastEventId).toBe('end');
		expect(server.lastEventIds()).toEqual([undefined, '2']);
	});

	test('that leaves closes its connection', async () => {
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

	test('whose signal is aborted already makes no request', async () => {
		await using server = await start([json(200, {})]);
		const signal = AbortSignal.abort('before');
		expect(await failure(server.client.getSession('s', { signal }))).toBe('before');
		expect(await failure(types(server.client.sendMessage('s', 'Go', { signal })))).toBe('before');
		expect(server.requests).toEqual([]);
	});
});
