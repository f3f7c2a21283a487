import * as fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { done, readEvents } from '../../../../src/core/providers/adapter/events.ts';

const live = new AbortController().signal;

/** Creates a response with these network chunks. */
function readResponse(chunks: readonly Uint8Array[], onCancel = () => {}): Response {
	const rest = [...chunks];
	const body = new ReadableStream<Uint8Array>({
		pull: (controller) => {
			const chunk = rest.shift();
			if (chunk === undefined) controller.close();
			else controller.enqueue(chunk);
		},
		cancel: onCancel,
	});
	return new Response(body);
}

async function read(chunks: readonly Uint8Array[]): Promise<unknown[]> {
	const events: unknown[] = [];
	await readEvents(readResponse(chunks), live, { take: add(events), hasAll: never });
	return events;
}

const never = () => false;

/** Adds each event to a list. */
function add(events: unknown[]): (event: unknown) => undefined {
	return (event) => void events.push(event);
}

/** Cuts the bytes at these places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
	const at = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort(
		(a, b) => a - b,
	);
	return at.slice(1).map((end, index) => bytes.slice(at[index], end));
}

const encode = (text: string) => new TextEncoder().encode(text);

test('reads the same events for any chunks, line endings, comments, extra fields or BOM', async () => {
	const event = fc.record({ type: fc.string({ unit: 'binary' }), text: fc.string({ unit: 'binary' }) });
	const noise = fc.constantFrom('', ': a comment', 'event: message', 'id: 7', 'retry: 10', ':');
	const ending = fc.constantFrom('\n', '\r\n', '\r');
	const streams = fc.record({
		events: fc.array(fc.tuple(event, noise)),
		ending,
		bom: fc.boolean(),
		last: fc.boolean(),
		places: fc.array(fc.nat()),
	});
	await fc.assert(
		fc.asyncProperty(streams, async ({ events, ending: line, bom, last, places }) => {
			const text = events
				.map(([one, other]) => `${other === '' ? '' : other + line}data: ${JSON.stringify(one)}${line}${line}`)
				.join('');
			// A missing empty line at the end has no effect.
			const bytes = encode((bom ? '\uFEFF' : '') + (last ? text : text.replace(/[\r\n]+$/, '')));
			expect(await read(cut(bytes, places))).toEqual(events.map(([one]) => JSON.parse(JSON.stringify(one))));
		}),
	);
});

test('reports each network chunk before its events, even a chunk that completes no event', async () => {
	const seen: unknown[] = [];
	const chunks = ['data: {"n":1}\n\ndata: {"n":2}\n\n', 'data: {"n"', ':3}\n\n'].map(encode);
	await readEvents(readResponse(chunks), live, { onChunk: () => seen.push('chunk'), take: add(seen), hasAll: never });
	expect(seen).toEqual(['chunk', { n: 1 }, { n: 2 }, 'chunk', 'chunk', { n: 3 }]);
});

test('waits until the reader has handled an event before it passes on the next event', async () => {
	const room = Promise.withResolvers<void>();
	const seen: unknown[] = [];
	const chunk = encode('data: {"n":1}\n\ndata: {"n":2}\n\n');
	const take = (event: unknown) => {
		seen.push(event);
		return seen.length === 1 ? room.promise : undefined;
	};
	const reading = readEvents(readResponse([chunk]), live, { take, hasAll: never });
	await vi.waitUntil(() => seen.length > 0);
	expect(seen).toEqual([{ n: 1 }]);
	room.resolve();
	expect(await reading).toBe(true);
	expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
});

test('reads [DONE] and each member of a list as an event, and ignores empty events', async () => {
	expect(await read([encode('data:\n\ndata: [{"a":1},{"b":2}]\n\ndata: "text"\n\ndata: [DONE]\n\n')])).toEqual([
		{ a: 1 },
		{ b: 2 },
		done,
	]);
});

test('fails with interrupted at an event that is not JSON', async () => {
	const seen: unknown[] = [];
	const chunk = encode('data: {"n":1}\n\ndata: {"n":\n\ndata: {"n":3}\n\n');
	const reading = readEvents(readResponse([chunk]), live, { take: add(seen), hasAll: never });
	await expect(reading).rejects.toMatchObject({ code: 'interrupted' });
	expect(seen).toEqual([{ n: 1 }]);
});

test('closes the stream after an error of the reader, an early [DONE], and an abort', async () => {
	let closed = 0;
	const onCancel = () => closed++;
	const chunk = encode('data: {"n":1}\n\n');
	const fail = () => {
		throw new Error('no');
	};
	const failing = readEvents(readResponse([chunk, chunk], onCancel), live, { take: fail, hasAll: never });
	await expect(failing).rejects.toThrow('no');
	expect(closed).toBe(1);
	const cut = readResponse([encode('data: [DONE]\n\n'), chunk], onCancel);
	expect(await readEvents(cut, live, { take: add([]), hasAll: never })).toBe(false);
	expect(closed).toBe(2);
	const controller = new AbortController();
	const endless = new Response(new ReadableStream({ cancel: () => void closed++ }));
	const reading = readEvents(endless, controller.signal, { take: add([]), hasAll: never });
	controller.abort();
	await reading;
	expect(closed).toBe(3);
});

test('reads the rest of a finished stream in the background', async () => {
	const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
	const writer = writable.getWriter();
	void writer.write(encode('data: {"n":1}\n\n'));
	await leaveFinished(new Response(readable));
	void writer.write(encode('data: [DONE]\n\n'));
	// This resolves once everything is read, and rejects if the reader cancelled the stream.
	await expect(writer.close()).resolves.toBeUndefined();
});

test('closes a stream if the rest after the reply is too long or too late', async () => {
	const chunk = encode(`data: ${JSON.stringify({ text: 'x'.repeat(10_000) })}\n\n`);
	const endless = new Promise<void>((resolve) => {
		const body = new ReadableStream({ pull: (controller) => controller.enqueue(chunk), cancel: () => resolve() });
		void leaveFinished(new Response(body));
	});
	await endless;
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	let closed = false;
	const body = new ReadableStream({
		start: (controller) => controller.enqueue(chunk),
		cancel: () => {
			closed = true;
		},
	});
	await leaveFinished(new Response(body));
	await vi.advanceTimersByTimeAsync(999);
	expect(closed).toBe(false);
	await vi.advanceTimersByTimeAsync(1);
	expect(closed).toBe(true);
});

/** Reads the first event of a stream, which completes the reply. */
async function leaveFinished(response: Response): Promise<void> {
	expect(await readEvents(response, live, { take: add([]), hasAll: () => true })).toBe(false);
}
