import { describe, expect, test } from 'vitest';
import { chat, providers, type RunletError } from '../../../../src/core/index.ts';

const encoder = new TextEncoder();

/** An endless answer, and its state. */
function endless(head: string, piece: string, init: ResponseInit) {
	const seen = { bytes: 0, closed: false };
	const body = new ReadableStream<Uint8Array>(
		{
			pull: (controller) => {
				const chunk = encoder.encode(seen.bytes === 0 ? head : piece);
				seen.bytes += chunk.byteLength;
				controller.enqueue(chunk);
			},
			cancel: () => {
				seen.closed = true;
			},
		},
		{ highWaterMark: 0 },
	);
	return { seen, response: new Response(body, init) };
}

const sse = { headers: { 'content-type': 'text/event-stream' } };
const json = { headers: { 'content-type': 'application/json' } };
const filler = 'x'.repeat(100_000);
const delta = (text: string) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;

/** Returns the error of a run whose provider sends this answer. */
async function ended(response: Response): Promise<RunletError> {
	const fetch = async () => response;
	const model = providers.openaiChat({ baseURL: 'https://api.test/v1', name: 'Test', prefix: 'test/', fetch });
	const options = { model: 'test/m', providers: [model], maxRetries: 0, maxReplyBytes: 1_000_000 };
	return chat.run(options, [chat.userMessage('Hi')]).result.then(
		() => Promise.reject(new Error('it did not fail')),
		(error) => error,
	);
}

describe('an endless answer', () => {
	test.each<[what: string, head: string, piece: string, init: ResponseInit]>([
		['a stream of text', delta('Hi'), delta(filler), sse],
		['one event', 'data: {"choices":[{"index":0,"delta":{"content":"', filler, sse],
		['one line that is not an event', ': ', filler, sse],
		['events without content', delta('Hi'), `data: {"nothing":"${filler}"}\n\n`, sse],
		['a JSON body', '{"choices":[{"index":0,"message":{"content":"', filler, json],
	])('%s is broken off, and its connection is closed', async (_, head, piece, init) => {
		const { seen, response } = endless(head, piece, init);
		expect(await ended(response)).toMatchObject({ code: 'reply_too_large' });
		expect(seen.closed).toBe(true);
		expect(seen.bytes).toBeLessThan(10_000_000);
	});

	test('with an error status is read only at its beginning', async () => {
		const { seen, response } = endless('The upstream is down. ', filler, { status: 503 });
		expect(await ended(response)).toMatchObject({ code: 'overloaded', message: expect.stringContaining('is down') });
		expect(seen.closed).toBe(true);
		expect(seen.bytes).toBeLessThan(300_000);
	});
});

test('maxReplyBytes counts the text of a reply, not its much longer events', async () => {
	const text = 'ab';
	const events = Array.from({ length: 20_000 }, () => delta(text)).join('');
	const end = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
	const fetch = async () => new Response(events + end, sse);
	const model = providers.openaiChat({ baseURL: 'https://api.test/v1', name: 'Test', prefix: 'test/', fetch });
	const options = { model: 'test/m', providers: [model], maxReplyBytes: 1_000_000 };
	expect((await chat.run(options, [chat.userMessage('Hi')]).result).text).toBe(text.repeat(20_000));
});
