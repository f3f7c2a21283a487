import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { PassedReader } from '../../../src/cloudflare/objects/session-api.ts';
import { follow } from '../../../src/cloudflare/session/events/follow.ts';
import { formatEventId, parseEventId, RunLog, toStart } from '../../../src/cloudflare/session/events/log.ts';
import { passOn, Relay, writeFeed } from '../../../src/cloudflare/session/events/relay.ts';
import { Revocations } from '../../../src/cloudflare/session/events/token-lease.ts';
import type { RunEvent } from '../../../src/core/chat/index.ts';
import { run } from './run-events.ts';

const start: RunEvent = { type: 'run.started', runId: 'r', attempt: 1 };
const end: RunEvent = { type: 'done', text: '', usage: {} };
const from = formatEventId(toStart(1));
const reader: PassedReader = {
	...{ relay: 'relay', session: 's', owner: 'alice', agent: 'assistant', live: 'b 1', from },
	reader: { isOperator: false, id: 'r' },
};

/** A log of a session, a relay of it, and the feeds that the relay has opened. */
function createRelay({ knowsKey = () => true }: { readonly knowsKey?: () => boolean } = {}) {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const log = new RunLog(1, [start]);
	const revocations = new Revocations();
	const feeds: { state: 'open' | 'cancelled' | 'ended'; readonly kill: () => void }[] = [];
	const feed = async () => {
		const source = writeFeed(log, revocations).getReader();
		const killed = Promise.withResolvers<never>();
		killed.promise.catch(() => {});
		const own = { state: 'open' as (typeof feeds)[number]['state'], kill: () => killed.reject(new Error('killed')) };
		feeds.push(own);
		const value = new ReadableStream<Uint8Array>(
			{
				pull: async (controller) => {
					const { done, value: bytes } = await Promise.race([source.read(), killed.promise]);
					if (bytes !== undefined) controller.enqueue(bytes);
					if (!done || own.state === 'cancelled') return;
					own.state = 'ended';
					controller.close();
				},
				cancel: () => {
					own.state = 'cancelled';
					return source.cancel();
				},
			},
			{ highWaterMark: 0 },
		);
		return { ok: true, value };
	};
	const sessions = { idFromString: (id: string) => id, get: () => ({ feed }) };
	const relay = new Relay(() => ({ sessions, knowsKey }) as never);
	return { log, relay, revocations, feeds };
}

/** Reads a stream to its end in the background. */
function read(stream: ReadableStream<Uint8Array>) {
	const seen = { text: '', isOver: false };
	const decoder = new TextDecoder();
	const source = stream.getReader();
	const work = async () => {
		for (let { value, done } = await source.read(); !done; { value, done } = await source.read())
			seen.text += decoder.decode(value, { stream: true });
		seen.isOver = true;
	};
	void work().catch(() => {});
	return Object.assign(seen, { leave: () => source.cancel() });
}

const pass = () => vi.advanceTimersByTimeAsync(200);

interface Frame {
	readonly type: string;
	readonly data: Record<string, unknown>;
	readonly id: string | undefined;
}

/** The events of a stream with neighbouring pieces of a text joined. The last piece gives the id. */
function toFrames(text: string): Frame[] {
	const out: Frame[] = [];
	for (const block of text.split('\n\n').slice(0, -1)) {
		const [, type = '', json = '', id] = /^event: ([^\n]*)\ndata: ([^\n]*)(?:\nid: ([^\n]*))?$/.exec(block) ?? [];
		const data: Record<string, unknown> = JSON.parse(json);
		const before = out.at(-1);
		const field = type === 'tool_use_input' ? 'partialInputJson' : 'text';
		const isPiece = ['text', 'reasoning', 'tool_use_input'].includes(type);
		const isNext = isPiece && before?.type === type && before.data.id === data.id;
		if (isNext) out[out.length - 1] = { type, id, data: { ...data, [field]: `${before.data[field]}${data[field]}` } };
		else out.push({ type, id, data });
	}
	return out;
}

/** A run with events that have no id. */
const anyRun = fc.tuple(run, fc.array(fc.nat(), { maxLength: 4 })).map(([events, places]) => {
	const out: RunEvent[] = [...events];
	for (const [n, place] of places.entries()) {
		const event: RunEvent =
			n % 2 === 0
				? { type: 'provider_tool', id: `p${n}`, name: 'web_search' }
				: { type: 'source', id: `s${n}`, url: `https://example.com/${n}` };
		out.splice(1 + (place % Math.max(1, out.length - 2)), 0, event);
	}
	return out;
});

test('a reader of a relay gets the same events and ids as a reader of the session, wherever it joins', async () => {
	const joins = fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 5 });
	await fc.assert(
		fc.asyncProperty(
			anyRun,
			joins,
			fc.array(fc.boolean(), { minLength: 1 }),
			async ([first, ...rest], places, waits) => {
				const { log, relay } = createRelay();
				const whole = read(follow(log));
				const pairs = [];
				for (const [index, event] of rest.entries()) {
					for (const [at, back] of places) {
						if (at % rest.length !== index) continue;
						await pass();
						const ids = [from, ...toFrames(whole.text).flatMap(({ id }) => id ?? [])];
						const place = ids[back % ids.length] ?? from;
						pairs.push([
							read(follow(log, parseEventId(place))),
							read(relay.follow({ ...reader, from: place })),
						] as const);
					}
					log.append([event]);
					if (waits[index % waits.length]) await pass();
				}
				for (let n = 0; n < 5; n++) await pass();
				expect(first).toEqual(start);
				for (const [direct, relayed] of pairs) {
					expect(relayed.isOver).toBe(true);
					expect(toFrames(relayed.text)).toEqual(toFrames(direct.text));
				}
				expect(vi.getTimerCount()).toBe(0);
			},
		),
		{ numRuns: 60 },
	);
});

test('a reader that reads an ended run from a relay gets the same bytes as from the session', async () => {
	await fc.assert(
		fc.asyncProperty(anyRun, async ([, ...rest]) => {
			const { log, relay } = createRelay();
			const keeper = read(relay.follow(reader));
			log.append(rest.slice(0, -1));
			await pass();
			const [direct, relayed] = [read(follow(log)), read(relay.follow(reader))];
			await pass();
			expect(relayed.text).toBe(direct.text);
			await Promise.all([keeper, direct, relayed].map(({ leave }) => leave()));
		}),
		{ numRuns: 30 },
	);
});

test('a relay reads one feed for all its readers, and none after its last reader has left', async () => {
	const { log, relay, feeds } = createRelay();
	const readers = Array.from({ length: 100 }, () => read(relay.follow(reader)));
	await pass();
	log.append([{ type: 'text', text: 'Hello' }]);
	await pass();
	expect(feeds.map(({ state }) => state)).toEqual(['open']);
	expect(readers.every(({ text }) => text.includes('"text":"Hello"'))).toBe(true);
	const [last, ...others] = readers;
	for (const { leave } of others) await leave();
	await pass();
	expect(feeds.map(({ state }) => state)).toEqual(['open']);
	await last?.leave();
	await pass();
	expect(feeds.map(({ state }) => state)).toEqual(['cancelled']);
	const late = read(relay.follow(reader));
	log.append([end]);
	await pass();
	expect(feeds.map(({ state }) => state === 'open')).toEqual([false, false]);
	expect(toFrames(late.text).map(({ type }) => type)).toEqual(['run.started', 'text', 'done']);
	expect(vi.getTimerCount()).toBe(0);
});

test('the streams of a relay end without an end of the run if its feed breaks, and its next reader gets a new feed', async () => {
	const { log, relay, feeds } = createRelay();
	const early = read(relay.follow(reader));
	log.append([{ type: 'text', text: 'so far' }]);
	await pass();
	feeds[0]?.kill();
	await pass();
	expect(early).toMatchObject({ isOver: true, text: expect.stringContaining('so far') });
	expect(early.text).not.toMatch(/event: (done|error|cancelled|closed)/);
	const { id } = toFrames(early.text).at(-1) ?? {};
	const again = read(relay.follow({ ...reader, from: id ?? from }));
	log.append([{ type: 'text', text: ' and on' }, end]);
	await pass();
	expect(toFrames(again.text).map(({ type, data }) => [type, data.text])).toEqual([
		['text', ' and on'],
		['done', ''],
	]);
});

test('a slow reader of a relay gets the rest of the run after the feed has ended', async () => {
	const { log, relay } = createRelay();
	const text = 'Many words. '.repeat(50_000);
	const slow = relay.follow(reader).getReader();
	log.append([{ type: 'text', text }, end]);
	await pass();
	let all = '';
	for (let { value, done } = await slow.read(); !done; { value, done } = await slow.read())
		all += new TextDecoder().decode(value);
	expect(toFrames(all)[1]?.data.text).toBe(text);
	expect(toFrames(all).at(-1)?.type).toBe('done');
});

test('a relay ends the streams of a revoked token only, also if the token was revoked before the feed began', async () => {
	const { log, relay, revocations } = createRelay();
	const token = (id: string) => ({ ...reader, token: { id, keyId: 'k', expiresAt: Date.now() / 1_000 + 3_600 } });
	revocations.add('before');
	const readers = ['before', 'during', 'other'].map((id) => read(relay.follow(token(id))));
	await pass();
	expect(readers.map(({ isOver }) => isOver)).toEqual([true, false, false]);
	revocations.add('during');
	log.wake();
	await pass();
	expect(readers.map(({ isOver }) => isOver)).toEqual([true, true, false]);
	for (const { text } of readers.slice(0, 2))
		expect(toFrames(text).at(-1)?.data).toMatchObject({ type: 'closed', code: 'auth' });
	const late = read(relay.follow(token('during')));
	await pass();
	expect(toFrames(late.text).map(({ type }) => type)).toEqual(['closed']);
	log.append([end]);
	await pass();
	expect(toFrames(readers[2]?.text ?? '').at(-1)?.type).toBe('done');
});

test('a relay ends the streams of a token that expires, and of a token whose key is revoked', async () => {
	let isKnown = true;
	const { log, relay } = createRelay({ knowsKey: () => isKnown });
	const token = (seconds: number) => ({
		...reader,
		token: { id: 't', keyId: 'k', expiresAt: Date.now() / 1_000 + seconds },
	});
	const [short, long] = [read(relay.follow(token(5))), read(relay.follow(token(3_600)))];
	await vi.advanceTimersByTimeAsync(6_000);
	expect([short.isOver, long.isOver]).toEqual([true, false]);
	expect(short.text).toContain('has expired');
	isKnown = false;
	log.append([{ type: 'text', text: 'secret' }]);
	await pass();
	expect(long.isOver).toBe(true);
	expect(long.text).toContain('came from a key that was revoked');
	expect(long.text).not.toContain('secret');
});

test('readers of a relay without errors of operators get neutral errors, and operators get the whole error', async () => {
	const { log, relay } = createRelay();
	const operator = read(relay.follow({ ...reader, reader: { isOperator: true, id: 'r' } }));
	const customer = read(relay.follow(reader));
	log.append([{ type: 'error', code: 'auth', message: 'the key sk-1 has no money', data: { provider: 'openai' } }]);
	await pass();
	expect(operator.text).toContain('sk-1');
	expect(customer.text).toContain('event: error');
	expect(customer.text).not.toMatch(/sk-1|openai/);
});

test('each thousand of passed readers gets a relay of its own', () => {
	const log = new RunLog(1, [start]);
	const names = Array.from({ length: 2_500 }, () => passOn(log, 'b', reader).relay);
	const sizes = [...Map.groupBy(names, (name) => name)].map(([name, readers]) => [name, readers.length]);
	expect(sizes).toEqual([
		['relay s b 1 0', 1_000],
		['relay s b 1 1', 1_000],
		['relay s b 1 2', 500],
	]);
});
