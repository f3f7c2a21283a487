import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
	type ChatReply,
	chat,
	type ProviderRegistration,
	providers,
	RunletError,
	type ToolCall,
} from '../../../src/core/index.ts';
import { bytewise, type Cutting, random, whole } from './recordings/cutting.ts';
import type { Expected } from './recordings/expected.ts';
import { isError, readCode, statusInStream } from './recordings/expected-error.ts';
import { at, readArguments, text } from './recordings/json.ts';
import {
	type Block,
	bodies,
	entries,
	files,
	notAnswers,
	type Recorded,
	type RecordedBody,
	type RecordedStream,
	streams,
} from './recordings/library.ts';
import { createPlayingFetch, type Player, startPlayer } from './recordings/server.ts';

/**
 * The recorded answers of real APIs, played over HTTP to the adapters. Small readers in `recordings/` read the
 * expected reply from the recording. They share no code with the adapters. Each stream and each body is sent whole,
 * and is sent cut at random. A `fetch` of the test also sends each stream byte by byte, and seven bytes at a time
 * after the first 20,000 bytes.
 */

let player: Player;
beforeAll(async () => {
	player = await startPlayer();
});
afterAll(() => player.close());

const messages = [chat.userMessage('Hello')];

function readRegistration(
	{ api, provider }: Recorded,
	base: string,
	fetch?: typeof globalThis.fetch,
): ProviderRegistration {
	const shared = { apiKey: 'test-key', maxRetries: 0, fetch };
	switch (api) {
		case 'anthropic':
			return providers.anthropic({ ...shared, baseURL: base });
		case 'gemini':
			return providers.gemini({ ...shared, baseURL: base });
		case 'openai':
			return providers.openai({ ...shared, baseURL: `${base}/v1` });
		case 'xai':
			return providers.xai({ ...shared, baseURL: `${base}/v1` });
		case 'chat':
			return providers.openaiChat({ ...shared, baseURL: `${base}/v1`, name: provider, prefix: `${provider}/` });
	}
}

function readModel({ api, provider, model }: Recorded): string {
	return api === 'chat' ? `${provider}/${model}` : model;
}

async function askWhole(recorded: RecordedBody, cutting: Cutting): Promise<ChatReply> {
	const { status, bytes } = recorded;
	const base = player.play({ status, contentType: 'application/json', bytes, cutting });
	const reply = await readRegistration(recorded, base).chatFn?.(readModel(recorded), messages);
	if (reply === undefined) throw new Error('the adapter gave no reply');
	return reply;
}

async function askStream(recorded: RecordedStream, cutting: Cutting, blocks: readonly Block[], deltas: unknown[]) {
	const bytes = new TextEncoder().encode(blocks.map(({ source }) => source).join(''));
	const answer = { status: 200, contentType: 'text/event-stream', bytes, cutting };
	const [base, fetch] =
		cutting === bytewise ? ['http://127.0.0.1', createPlayingFetch(answer)] : [player.play(answer), undefined];
	const take = (delta: unknown): undefined => {
		deltas.push(delta);
	};
	const { chatStreamFn } = readRegistration(recorded, base, fetch);
	const reply = await chatStreamFn?.(readModel(recorded), messages, undefined, undefined, take);
	if (reply === undefined) throw new RunletError('interrupted', 'the adapter gave no reply');
	return reply;
}

describe('the library of recordings', () => {
	test('has an index with all recordings and no other files', () => {
		expect(entries.map(({ file }) => file).toSorted()).toEqual(files.toSorted());
	});

	test('plays each file of the indexes, or lists why the file is no answer', () => {
		const accounted = new Set([...bodies, ...streams].map(({ file }) => file).concat(Object.keys(notAnswers)));
		expect([...accounted].toSorted()).toEqual(entries.map(({ file }) => file).toSorted());
	});

	test('sends single bytes, most of which arrive alone', async () => {
		const bytes = new TextEncoder().encode('x'.repeat(1000));
		const url = player.play({ status: 200, contentType: 'text/plain', bytes, cutting: bytewise });
		const { body } = await fetch(url);
		let pieces = 0;
		for await (const _piece of body ?? []) pieces++;
		expect(pieces).toBeGreaterThan(900);
	});
});

describe.each(named(bodies.filter(({ status }) => status === 200)))('%s', (_name, recorded) => {
	test.each(named([whole, random]))('is read as expected, %s', async (_name, cutting) => {
		expectReply(await askWhole(recorded, cutting), recorded.reading.readBody(recorded.body));
	});
});

describe.each(named(bodies.filter(({ status }) => status !== 200)))('%s', (_name, recorded) => {
	test.each(named([whole, random]))('causes the expected error, %s', async (_name, cutting) => {
		await expectError(askWhole(recorded, cutting), readCode(recorded.status));
	});
});

const withError = streams.filter(({ blocks }) => blocks.some(({ event }) => isError(event)));

describe.each(named(streams.filter((recorded) => !withError.includes(recorded))))('%s', (_name, recorded) => {
	const expected = recorded.reading.readStream(readEvents(recorded));

	test.each(named([whole, bytewise, random]))('is read as expected, %s', async (_name, cutting) => {
		const deltas: unknown[] = [];
		const reply = await askStream(recorded, cutting, recorded.blocks, deltas);
		expectReply(reply, expected);
		expectDeltas(deltas, reply);
	});

	test('is interrupted if it breaks off before its end', async () => {
		const end = recorded.blocks.findIndex(({ event }) => recorded.reading.ends(event));
		expect(end).toBeGreaterThanOrEqual(0);
		const deltas: unknown[] = [];
		await expectError(askStream(recorded, whole, recorded.blocks.slice(0, end), deltas), 'interrupted');
		expect(ofType(deltas, 'stop')).toEqual([]);
	});
});

describe.each(named(withError))('%s', (_name, recorded) => {
	test.each(named([whole, bytewise, random]))('fails with the error at its end, %s', async (_name, cutting) => {
		const error = readEvents(recorded).find(isError);
		const deltas: unknown[] = [];
		await expectError(askStream(recorded, cutting, recorded.blocks, deltas), readCode(statusInStream(error)));
		expect(ofType(deltas, 'stop')).toEqual([]);
	});
});

const pairs = streams.flatMap((stream) => {
	const body = bodies.find(({ file }) => file === stream.file.replace('.chunks.txt', '.json'));
	return body === undefined || withError.includes(stream) ? [] : [{ name: stream.name, stream, body }];
});

describe.each(named(pairs))('%s', (_name, { stream, body }) => {
	test('yields a reply with the same fields, streamed and whole', async () => {
		const streamed = await askStream(stream, whole, stream.blocks, []);
		const plain = await askWhole(body, whole);
		const [a, b] = [stream.reading.readStream(readEvents(stream)), body.reading.readBody(body.body)];
		// The stream and the body were recorded separately. The model may have called a tool in only one recording.
		const apart = [
			...((a.text === '') === (b.text === '') ? [] : ['text']),
			...((a.toolCalls.length === 0) === (b.toolCalls.length === 0) ? [] : ['toolCalls']),
		];
		const fields = (reply: ChatReply) => readFields(reply).filter((field) => !apart.includes(field));
		expect(fields(streamed)).toEqual(fields(plain));
		const missing = (usage: Expected['usage']) => Object.entries(usage).filter(([, value]) => value === undefined);
		if (missing(a.usage).length === missing(b.usage).length) {
			const keys = ({ usage }: ChatReply) => readKeys(usage).filter((key) => key !== 'units');
			expect(keys(streamed)).toEqual(keys(plain));
		}
	});
});

/** Creates rows for `each` with the names apart, because `each` would cut them. */
function named<T extends { readonly name: string }>(rows: readonly T[]): [name: string, row: T][] {
	return rows.map((row) => [row.name, row]);
}

function readFields({ text, toolCalls, stopReason, usage, raw }: ChatReply): string[] {
	return readKeys({ text, toolCalls, stopReason, usage, raw });
}

function readKeys(value: object | undefined): string[] {
	return Object.entries(value ?? {})
		.flatMap(([key, one]) => (one === undefined ? [] : [key]))
		.toSorted();
}

function readEvents({ blocks }: RecordedStream): unknown[] {
	return blocks.flatMap(({ event }) => (event === undefined ? [] : [event]));
}

function expectReply(reply: ChatReply, expected: Expected): void {
	const toolCalls = reply.toolCalls ?? [];
	expect({ ...reply, text: reply.text ?? '', toolCalls: [] }).toMatchObject({
		text: expected.text,
		stopReason: expected.stopReason,
	});
	const known = (calls: readonly ToolCall[]) =>
		calls.map((call, index) => ({ ...call, id: expected.toolCalls[index]?.id === '' ? '' : call.id }));
	expect(known(toolCalls)).toEqual(expected.toolCalls);
	for (const { id } of toolCalls) expect(id).not.toBe('');
	expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(toolCalls.length);
	expect(counts(reply.usage, expected)).toEqual(expected.usage);
}

function counts(usage: ChatReply['usage'], expected: Expected): Expected['usage'] {
	return {
		inputTokens: usage?.inputTokens,
		outputTokens: usage?.outputTokens,
		cachedInputTokens: expected.usage.cachedInputTokens === 'any' ? 'any' : usage?.cachedInputTokens,
		reasoningTokens: usage?.reasoningTokens,
	};
}

function expectDeltas(deltas: readonly unknown[], reply: ChatReply): void {
	const texts = ofType(deltas, 'text').map((delta) => at(delta, 'text'));
	expect(texts.join('')).toBe(reply.text ?? '');
	const thoughts = ofType(deltas, 'reasoning').map((delta) => at(delta, 'text'));
	expect([...texts, ...thoughts]).not.toContain('');
	const calls = reply.toolCalls ?? [];
	const started = ofType(deltas, 'tool_use_start').map((delta) => ({ id: at(delta, 'id'), name: at(delta, 'name') }));
	expect(started).toEqual(calls.map(({ id, name }) => ({ id, name })));
	for (const { id, input } of calls) {
		const own = deltas.filter((delta) => at(delta, 'id') === id);
		const pieces = own.slice(1, -1);
		expect([own.at(0), own.at(-1)].map((delta) => at(delta, 'type'))).toEqual(['tool_use_start', 'tool_use_end']);
		expect(ofType(pieces, 'tool_use_input')).toEqual(pieces);
		expect(readArguments(pieces.map((delta) => text(delta, 'partialInputJson')).join(''))).toEqual(input);
	}
	const ids = calls.map(({ id }): unknown => id);
	for (const piece of ofType(deltas, 'tool_use_input')) expect(ids).toContain(at(piece, 'id'));
	const stop = { reason: reply.stopReason, usage: reply.usage };
	expect(ofType(deltas, 'stop')).toMatchObject([stop]);
	expect(deltas.at(-1)).toMatchObject({ type: 'stop' });
}

function ofType(deltas: readonly unknown[], type: string): unknown[] {
	return deltas.filter((delta) => at(delta, 'type') === type);
}

async function expectError(call: Promise<unknown>, code: string): Promise<void> {
	const error = await call.then(
		(reply) => expect.unreachable(`not an error: ${JSON.stringify(reply)}`),
		(thrown: unknown) => thrown,
	);
	expect(error).toBeInstanceOf(RunletError);
	expect(error).toMatchObject({ code });
}
