/** The adapters and their SDKs in workerd, where they are meant to run. Only the network is replaced. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { chat } from '../../../src/core/index.ts';
import { type Dialect, type NeutralReply, usualUsage } from './wire/dialect.ts';
import { dialects } from './wire/dialects.ts';

const address = 'https://provider.example';
const reply: NeutralReply = {
	text: 'Ein Löffel voll ✓',
	calls: [{ id: 'call_1', name: 'look', argumentsJson: '{"city":"Ulm"}' }],
	stop: 'tool_use',
	usage: usualUsage,
};
const look = {
	name: 'look',
	description: 'Looks.',
	inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
};

/** The answer of the provider, in network chunks of this size. */
function answering(dialect: Dialect, size: number) {
	const sent: Request[] = [];
	vi.stubGlobal('fetch', async (input: RequestInfo, init?: RequestInit) => {
		const request = new Request(input, init);
		sent.push(request.clone());
		const body: unknown = await request.json();
		if (!dialect.readRequest(body, new URL(request.url).pathname + new URL(request.url).search).stream)
			return Response.json(dialect.body(reply));
		const bytes = new TextEncoder().encode(dialect.events(reply).join(''));
		let at = 0;
		const stream = new ReadableStream<Uint8Array>({
			pull: (controller) => {
				if (at >= bytes.length) return controller.close();
				controller.enqueue(bytes.slice(at, at + size));
				at += size;
			},
		});
		return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
	});
	return sent;
}

afterEach(() => vi.unstubAllGlobals());

describe.each(dialects.map((dialect) => [dialect.name, dialect] as const))('%s in workerd', (_, dialect) => {
	test.each([1, 7, 100_000])('reads the same reply from chunks of %i bytes and from a whole response', async (size) => {
		answering(dialect, size);
		const { chatStreamFn, chatFn } = dialect.provider(address);
		const texts: string[] = [];
		const onDelta: chat.OnDelta = (delta) => {
			if (delta.type === 'text' && typeof delta.text === 'string') texts.push(delta.text);
			return undefined;
		};
		const hello = [chat.userMessage('Hello')];
		const streamed = await chatStreamFn?.(dialect.model, hello, 'Be brief.', [look], onDelta);
		expect(streamed).toMatchObject({ text: reply.text, stopReason: 'tool_use' });
		expect(streamed?.toolCalls).toMatchObject([{ name: 'look', input: { city: 'Ulm' } }]);
		expect(texts.join('')).toBe(reply.text);
		const whole = await chatFn?.(dialect.model, hello, 'Be brief.', [look]);
		expect(whole).toMatchObject({
			text: reply.text,
			stopReason: 'tool_use',
			toolCalls: [{ name: 'look', input: { city: 'Ulm' } }],
		});
	});
});
