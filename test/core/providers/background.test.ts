import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startRun } from '../../../src/core/chat/run.ts';
import { chat, providers } from '../../../src/core/index.ts';

const hello = [chat.userMessage('Hello')];
const text = (words: string) => ({
	type: 'message',
	id: 'msg_1',
	role: 'assistant',
	status: 'completed',
	content: [{ type: 'output_text', text: words, annotations: [] }],
});
const about = { id: 'resp_1', object: 'response', model: 'gpt-5.4', background: true };
const at = (status: string) => ({ ...about, status, output: [], usage: null });
const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
const completed = { ...about, status: 'completed', output: [text('All of it.')], usage };

/**
 * Sends these answers in order. A list is a stream that breaks off after its last event. An error is a lost connection.
 */
function openai(...answers: readonly unknown[]) {
	const sent: string[] = [];
	const bodies: Record<string, unknown>[] = [];
	const left = [...answers];
	/** Resolves once a request arrives that gets no answer. */
	const hangs = Promise.withResolvers<void>();
	const provider = providers.openai({
		apiKey: 'key',
		body: { background: true },
		fetch: async (url, init = {}) => {
			const { pathname } = new URL(`${url}`);
			sent.push(`${init.method?.toUpperCase()} ${pathname}`);
			if (init.method?.toUpperCase() === 'POST' && !pathname.endsWith('cancel'))
				bodies.push(JSON.parse(`${init.body}`));
			const answer = pathname.endsWith('cancel') ? at('cancelled') : left.shift();
			if (answer instanceof Error) throw answer;
			if (answer instanceof Response) return answer;
			if (answer === undefined) hangs.resolve();
			if (answer === undefined) return new Promise((_, reject) => init.signal?.addEventListener('abort', reject));
			if (!Array.isArray(answer)) return Response.json(answer);
			const events = answer.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
			return new Response(events, { headers: { 'content-type': 'text/event-stream' } });
		},
	});
	return { sent, bodies, hangs: hangs.promise, options: { model: 'gpt-5.4', providers: [provider] } };
}

/** A stream that loses its connection after some events. */
function breakOff(events: readonly unknown[]): Response {
	const left = [...events];
	const stream = new ReadableStream<Uint8Array>({
		pull: (controller) => {
			const event = left.shift();
			if (event === undefined) controller.error(new TypeError('terminated'));
			else controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
		},
	});
	return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
}

/** Lets time pass until a promise settles. */
async function pass<T>(promise: Promise<T>): Promise<T> {
	let isOpen = true;
	const ended = promise.finally(() => {
		isOpen = false;
	});
	ended.catch(() => {});
	while (isOpen) {
		await new Promise((resolve) => setImmediate(resolve));
		await vi.advanceTimersByTimeAsync(100);
	}
	return ended;
}

const end = (options: chat.ChatOptions, stream = true) =>
	pass(startRun(options, hello, { stream }).result.catch((error) => error));

// The SDK must be loaded before the clock stops.
beforeAll(() => import('../../../src/core/providers/adapter/openai-sdk.ts'));
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] }));
afterEach(() => void vi.useRealTimers());

describe('a response of OpenAI in the background', () => {
	test.each([true, false])('is polled by its id until it is finished, with streaming %s', async (stream) => {
		const { sent, bodies, options } = openai(at('queued'), at('in_progress'), completed);
		const { text, usage } = await end(options, stream);
		expect(text).toBe('All of it.');
		expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 5 });
		expect(sent).toEqual(['POST /v1/responses', 'GET /v1/responses/resp_1', 'GET /v1/responses/resp_1']);
		expect(bodies[0]).toMatchObject({ background: true, store: true });
	});

	test.each([false, true])(
		'continues after its stream broke off, and shows no text twice (error: %s)',
		async (fails) => {
			const begun = [
				{ type: 'response.created', response: at('queued') },
				{ type: 'response.output_item.added', output_index: 0, item: { ...text(''), content: [] } },
				{ type: 'response.output_text.delta', output_index: 0, item_id: 'msg_1', content_index: 0, delta: 'All ' },
			];
			const { sent, options } = openai(fails ? breakOff(begun) : begun, at('in_progress'), completed);
			const run = chat.run(options, hello);
			const pieces: string[] = [];
			const reading = (async () => {
				for await (const event of run.events) if (event.type === 'text') pieces.push(event.text);
			})();
			await pass(reading);
			expect(pieces).toEqual(['All ', 'of it.']);
			expect((await run.result).text).toBe('All of it.');
			expect(sent).toEqual(['POST /v1/responses', 'GET /v1/responses/resp_1', 'GET /v1/responses/resp_1']);
		},
	);

	test('survives a limited number of lost connections and busy servers', async () => {
		const lost = new TypeError('fetch failed');
		const busy = (): Response => Response.json({ error: { message: 'Busy.' } }, { status: 503 });
		const some = openai(at('queued'), lost, busy(), lost, at('in_progress'), lost, busy(), lost, completed);
		expect(await end(some.options)).toMatchObject({ text: 'All of it.' });
		expect(some.sent.filter((line) => line.startsWith('POST'))).toEqual(['POST /v1/responses']);
		const many = openai(at('queued'), lost, lost, lost, lost, lost);
		expect(await end({ ...many.options, maxRetries: 0 })).toMatchObject({ code: 'network' });
		expect(many.sent.slice(-1)).toEqual(['POST /v1/responses/resp_1/cancel']);
	});

	test('can take longer than the idle limit, and the call fails if the response failed', async () => {
		const working = Array.from({ length: 100 }, () => at('in_progress'));
		const { options } = openai(at('queued'), ...working, completed);
		const timeouts = { firstEventMs: 20_000, idleMs: 20_000 };
		expect(await end({ ...options, timeouts })).toMatchObject({ text: 'All of it.' });
		const failed = { ...at('failed'), error: { code: 'server_error', message: 'It broke.' } };
		const other = openai(at('queued'), failed);
		const error = await end({ ...other.options, maxRetries: 0 });
		expect(error).toMatchObject({ message: expect.stringContaining('It broke.') });
		expect(other.sent).toEqual(['POST /v1/responses', 'GET /v1/responses/resp_1']);
	});

	test('is cancelled at the provider if the run is cancelled', async () => {
		const { sent, hangs, options } = openai(at('queued'), at('in_progress'));
		const own = new AbortController();
		const run = startRun({ ...options, signal: own.signal }, hello);
		await pass(hangs);
		own.abort();
		expect(await pass(run.result.catch((error) => error))).toMatchObject({ code: 'cancelled' });
		expect(sent.at(-1)).toBe('POST /v1/responses/resp_1/cancel');
	});

	test('is stored at the provider, but other responses are not', async () => {
		const sent: unknown[] = [];
		const provider = providers.openai({
			apiKey: 'key',
			fetch: async (_, init = {}) => {
				sent.push(JSON.parse(`${init.body}`));
				return Response.json({ ...completed, background: false });
			},
		});
		await end({ model: 'gpt-5.4', providers: [provider] });
		expect(sent).toEqual([expect.objectContaining({ store: false })]);
	});
});
