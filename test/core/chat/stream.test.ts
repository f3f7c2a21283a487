import { describe, expect, test } from 'vitest';
import { chat, providers, type RunEvent } from '../../../src/core/index.ts';
import { calling, echo, echoCall, endings, readText, refusal, type Script } from './support.ts';

const start = (script: Script) =>
	chat.run({ model: 'scripted', providers: [providers.scripted(script)], tools: [echo] }, [chat.userMessage('Hello')]);
const script = (): Script => [{ text: 'I look – ✓', ...calling(echoCall('a')) }, 'Seen.'];

/** A script of a turn that streams deltas and waits for its reader. `sent` counts them. */
function patient(deltas: number, delta: (n: number) => { type: string; [field: string]: unknown }) {
	const counter = { sent: 0 };
	const play: Script = [
		async (_, onDelta) => {
			for (; counter.sent < deltas; counter.sent++) await onDelta(delta(counter.sent));
			return {};
		},
	];
	return { counter, play };
}

/** Waits until nothing else can continue without a reader. */
async function quiet(): Promise<void> {
	for (let n = 0; n < 50_000; n++) await null;
}

async function read(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
	const all: RunEvent[] = [];
	for await (const event of events) all.push(event);
	return all;
}

describe('events', () => {
	test('can be read after the result', async () => {
		const run = start(script());
		await run.result;
		const events = await read(run.events);
		expect(events[0]?.type).toBe('run.started');
		expect(readText(events)).toBe('I look – ✓Seen.');
		expect(events.at(-1)?.type).toBe('done');
	});

	test('can be read after a failure, without an unhandled rejection', async () => {
		const run = start([new Error('boom')]);
		await refusal(run.result);
		expect(endings(await read(run.events))).toMatchObject([{ type: 'error' }]);
	});

	test('refuse a second reader', async () => {
		const run = start(script());
		const first = read(run.events);
		expect((await refusal(read(run.events))).message).toMatch(/once|already/);
		expect(() => run.toStream()).toThrow(/once|already/);
		expect((await first).at(-1)?.type).toBe('done');
	});

	test('cancel the run if their reader leaves early', async () => {
		const run = start([
			async ({ options }, onDelta) => {
				await onDelta({ type: 'text', text: 'Once' });
				return new Promise((_, reject) => {
					options?.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
				});
			},
		]);
		for await (const { type } of run.events) if (type === 'text') break;
		expect((await refusal(run.result)).code).toBe('cancelled');
	});

	test('do not delay the result if nobody reads them', async () => {
		expect((await start(script()).result).text).toBe('Seen.');
		expect((await refusal(start([new Error('boom')]).result)).code).toBe('provider_error');
	});
});

describe('toStream', () => {
	const texts = async (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();

	test('sends each event as an SSE block with its type and its JSON', async () => {
		const one = await read(start(script()).events);
		const bytes = await texts(start(script()).toStream());
		const blocks = bytes.split('\n\n').filter((block) => block !== '');
		const parsed = blocks.map((block) => {
			const [, event, data] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
			return { event, data: JSON.parse(data ?? 'null') };
		});
		const known = (event: RunEvent): unknown => (event.type === 'run.started' ? { ...event, runId: '' } : event);
		expect(parsed.map(({ data }) => known(data))).toEqual(one.map(known));
		expect(parsed.map(({ event }) => event)).toEqual(one.map(({ type }) => type));
		expect(bytes.endsWith('\n\n')).toBe(true);
	});

	test('joins the pieces of a text that are available together', async () => {
		const pieces = (...all: readonly string[]) => all.map((text) => ({ type: 'text', text }));
		const { promise: isRead, resolve: goOn } = Promise.withResolvers<void>();
		const run = start([
			async (_, onDelta) => {
				const think = { type: 'reasoning', text: 'Hm.' };
				for (const delta of [...pieces('One ', 'two '), think, ...pieces('three ', 'four ')]) void onDelta(delta);
				await isRead;
				for (const delta of pieces('five ', 'six')) void onDelta(delta);
				return {};
			},
		]);
		let bytes = '';
		const decoder = new TextDecoder();
		for await (const chunk of run.toStream()) {
			bytes += decoder.decode(chunk);
			if (bytes.includes('four ')) goOn();
		}
		expect(
			[...bytes.matchAll(/^data: \{"type":"(?:text|reasoning)","text":"(.*)"\}$/gm)].map(([, text]) => text),
		).toEqual(['One two ', 'Hm.', 'three four ', 'five six']);
	});

	test('ends with the terminal event of a failed run', async () => {
		const bytes = await texts(start([new Error('boom')]).toStream());
		expect(bytes.trim().split('\n\n').at(-1)).toMatch(/^event: error\n/);
	});

	test('escapes line breaks in a text and in the type of an event', async () => {
		const delta = { type: 'acme:x\ndata: {"type":"done"}', text: 'a\n\nb' };
		const bytes = await texts(
			start([{ text: 'a\n\nevent: done', deltas: [delta, { type: 'text', text: 'a\n\nevent: done' }] }]).toStream(),
		);
		for (const block of bytes.trim().split('\n\n')) expect(block).toMatch(/^event: .+\ndata: .+$/);
		expect(bytes.match(/^event: done$/gm)).toHaveLength(1);
	});

	test('cancels the run if the stream is cancelled', async () => {
		const run = start([() => new Promise<never>(() => {})]);
		const reader = run.toStream().getReader();
		await reader.read();
		await reader.cancel();
		expect((await refusal(run.result)).code).toBe('cancelled');
	});

	test('returns a byte stream that accepts a BYOB reader', async () => {
		const reader = start(script()).toStream().getReader({ mode: 'byob' });
		const { value } = await reader.read(new Uint8Array(64));
		expect(new TextDecoder().decode(value)).toMatch(/^event: run.started\n/);
		await reader.cancel();
	});
});

describe('backpressure', () => {
	const text = () => ({ type: 'text', text: 'ab' });

	test('an idle reader holds back a provider that waits for onDelta', async () => {
		const { counter, play } = patient(20_000, text);
		const reader = start(play).events[Symbol.asyncIterator]();
		await reader.next();
		await quiet();
		const held = counter.sent;
		expect(held).toBeLessThan(4_000);
		await quiet();
		expect(counter.sent).toBe(held);
		await reader.return?.();
	});

	test('a slow reader gets all events', async () => {
		const { counter, play } = patient(20_000, text);
		const run = start(play);
		let most = 0;
		let seen = 0;
		for await (const { type } of run.events) {
			if (type !== 'text') continue;
			seen++;
			most = Math.max(most, counter.sent - seen);
		}
		expect(seen).toBe(20_000);
		expect(most).toBeLessThan(4_000);
		expect((await run.result).text).toHaveLength(40_000);
	});

	test('an idle byte stream holds back the provider', async () => {
		const { counter, play } = patient(20_000, text);
		const stream = start(play).toStream();
		await quiet();
		expect(counter.sent).toBeLessThan(4_000);
		await stream.cancel();
	});

	test('a run without a reader joins its deltas', async () => {
		const { play } = patient(50_000, text);
		const run = start(play);
		expect((await run.result).text).toHaveLength(100_000);
		const events = await read(run.events);
		expect(events.length).toBeLessThan(4_000);
		expect(readText(events)).toHaveLength(100_000);
	});

	test('a run without a reader joins a long tool input', async () => {
		const piece = (n: number) =>
			n === 0
				? { type: 'tool_use_start', id: 'a', name: 'echo' }
				: { type: 'tool_use_input', id: 'a', partialInputJson: 'x' };
		const run = start(patient(50_000, piece).play);
		await run.result;
		const events = await read(run.events);
		expect(events.length).toBeLessThan(4_000);
	});
});
