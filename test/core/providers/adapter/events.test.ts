import * as fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { done, eventBatches } from '../../../../src/core/providers/adapter/events.ts';

const live = new AbortController().signal;

/** A response whose network chunks are these. */
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
	for await (const batch of eventBatches(readResponse(chunks), live)) events.push(...batch);
	return events;
}

/** The bytes, cut at the given places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
	const at = [...new Set([0, ...places.map((place) => place % (bytes.length + 1)), bytes.length])].sort(
		(a, b) => a - b,
	);
	return at.slice(1).map((end, index) => bytes.slice(at[index], end));
}

const encode = (text: string) => new TextEncoder().encode(text);

test('events are the same however the bytes are cut, with any line ending, comments, a BOM and other fields between', async () => {
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
			// Who cuts the last empty line off means the same.
			const bytes = encode((bom ? '\uFEFF' : '') + (last ? text : text.replace(/[\r\n]+$/, '')));
			expect(await read(cut(bytes, places))).toEqual(events.map(([one]) => JSON.parse(JSON.stringify(one))));
		}),
	);
});

test('the events of one network chunk come together', async () => {
	const sizes: number[] = [];
	const chunk = encode('data: {"n":1}\n\ndata: {"n":2}\n\n');
	for await (const batch of eventBatches(readResponse([chunk, chunk]), live)) sizes.push(batch.length);
	expect(sizes).toEqual([2, 2]);
});

test('[DONE] is an event, an empty one is none, and a list gives its members', async () => {
	expect(await read([encode('data:\n\ndata: [{"a":1},{"b":2}]\n\ndata: "text"\n\ndata: [DONE]\n\n')])).toEqual([
		{ a: 1 },
		{ b: 2 },
		done,
	]);
});

test('an event that is no JSON breaks the stream off, after those before it', async () => {
	const seen: unknown[] = [];
	const reading = async () => {
		for await (const batch of eventBatches(
			readResponse([encode('data: {"n":1}\n\ndata: {"n":\n\ndata: {"n":3}\n\n')]),
			live,
		))
			seen.push(...batch);
	};
	await expect(reading()).rejects.toMatchObject({ code: 'interrupted' });
	expect(seen).toEqual([{ n: 1 }]);
});

test('an early return closes the stream, and so does the signal', async () => {
	let closed = 0;
	const chunk = encode('data: {"n":1}\n\n');
	for await (const _ of eventBatches(
		readResponse([chunk, chunk], () => closed++),
		live,
	))
		break;
	expect(closed).toBe(1);
	const controller = new AbortController();
	const endless = new Response(new ReadableStream({ cancel: () => void closed++ }));
	const reading = eventBatches(endless, controller.signal).next();
	controller.abort();
	expect((await reading).done).toBe(true);
	expect(closed).toBe(2);
});

test('a stream that holds nothing more of use is read to its end, and nobody waits for that', async () => {
	const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
	const writer = writable.getWriter();
	void writer.write(encode('data: {"n":1}\n\n'));
	await leaveFinished(new Response(readable));
	void writer.write(encode('data: [DONE]\n\n'));
	// Resolves once all is read, and rejects if the reader has left.
	await expect(writer.close()).resolves.toBeUndefined();
});

test('a rest that does not end closes the stream: by its bytes, and by its time', async () => {
	const chunk = encode(`data: ${JSON.stringify('x'.repeat(10_000))}\n\n`);
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

/** Reads one batch of a stream, and leaves it with the word that this was all. */
async function leaveFinished(response: Response): Promise<void> {
	for await (const _ of eventBatches(response, live, undefined, () => true)) break;
}
