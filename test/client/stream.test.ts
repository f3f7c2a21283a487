import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createClient, type RunEvent } from '../../src/client/index.ts';
import {
	cutStream,
	done,
	end,
	error,
	failure,
	hangUp,
	one,
	say,
	start,
	startServer,
	stream,
	texts,
	three,
	toWire,
	two,
	types,
} from './server.ts';

describe('a stream that drops', () => {
	test('resumes after the last complete event, wherever the stream was cut', async () => {
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

	test('is requested again with the same Idempotency-Key if no event has arrived', async () => {
		await using server = await start([cutStream(), stream(one, end)]);
		expect(await types(server.client.sendMessage('s', 'Go'))).toEqual(['text', 'done']);
		expect(server.routes()).toEqual(Array(2).fill('POST /v1/sessions/s/messages'));
		const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
		expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]]);
		expect(server.requests.map(({ body }) => body)).toEqual([{ text: 'Go' }, { text: 'Go' }]);
	});

	test('resumes after a restart of the server, even if several attempts fail', async () => {
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

	test('resumes if the final event is missing, even if the connection closed cleanly', async () => {
		await using server = await start([stream(one), stream(two, end)]);
		expect(await texts(server.client.followRun('s'))).toEqual(['one', 'two', 'done']);
		expect(server.routes()).toEqual(Array(2).fill('GET /v1/sessions/s/events'));
	});

	test('fails after several drops in a row, and every event restarts the count', async () => {
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

	test('reports the reason before each retry', async () => {
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

describe('a client', () => {
	beforeEach(() => {
		vi.useFakeTimers({ now: 1_000_000 });
	});
	afterEach(() => {
		vi.useRealTimers();
		vi.restoreAllMocks();
	});

	/** A fetch that returns these responses, one after another, and fails after the last response. */
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
		'waits as long as the header Retry-After says: %s',
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

	test('throws at once if Retry-After is longer than a minute', async () => {
		const read = createClient({ fetch: answer(events(one), overloaded('3600')), retryDelayMs: 0 }).sendMessage(
			's',
			'Go',
		);
		expect((await read.next()).value).toEqual(say('one'));
		const rest = failure(read.next());
		await vi.advanceTimersByTimeAsync(0);
		expect(await rest).toMatchObject({ code: 'overloaded', status: 503, retryAfterMs: 3_600_000 });
	});

	test('doubles the delay between attempts, up to eight seconds', async () => {
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

	test('drops and resumes a stream that sends no data for 45 seconds', async () => {
		const fetch = answer(silent(one), events(two, end));
		const read = texts(createClient({ fetch, retryDelayMs: 0 }).sendMessage('s', 'Go'));
		await vi.advanceTimersByTimeAsync(44_999);
		expect(fetch).toHaveBeenCalledTimes(1);
		await vi.advanceTimersByTimeAsync(2);
		expect(await read).toEqual(['one', 'two', 'done']);
		expect(fetch).toHaveBeenLastCalledWith('/v1/sessions/s/events', expect.objectContaining({ method: 'GET' }));
	});

	test('fails a request that gets no answer in time', async () => {
		const fetch = vi.fn<typeof globalThis.fetch>(
			(_, init) =>
				new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))),
		);
		const asked = failure(createClient({ fetch, retryDelayMs: 0, idleMs: 100 }).listAgents());
		await vi.advanceTimersByTimeAsync(1_000);
		expect(await asked).toMatchObject({ code: 'unreachable' });
		expect(fetch).toHaveBeenCalledTimes(3);
	});

	test('does not treat a slow reader as a silent connection', async () => {
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
