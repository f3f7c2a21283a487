/** The behavior of all adapters if the provider fails or sends unusual data, tested with a real server. */

import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { chat, type RunletError, type Tool } from '../../../src/core/index.ts';
import {
	type Delta,
	joinedText,
	type Question,
	ran,
	readCalls,
	readError,
	readReply,
	streamed,
	type Way,
	whole,
} from './wire/call.ts';
import { chunk, done, usageChunk } from './wire/chat.ts';
import {
	citySchema,
	type Dialect,
	type Fault,
	type NeutralReply,
	type Settings,
	secretKey,
	sse,
	usualUsage,
} from './wire/dialect.ts';
import { dialects } from './wire/dialects.ts';
import { deadUrl, type Exchange, type Script, startServer } from './wire/server.ts';

vi.setConfig({ testTimeout: 3_000 });

const server = await startServer();
afterAll(() => server.close());
afterEach(() => server.check());

const look: Tool = { name: 'look', description: 'Looks at a city.', inputSchema: citySchema };
const story: NeutralReply = { text: 'One two three four five six ✓✓ seven.', stop: 'end_turn' };
const streams: readonly Way[] = [streamed, ran];
const everyWay: readonly Way[] = [streamed, ran, whole];

/** Defines a test that runs only if the API has a feature. */
const testIf = (has: boolean): ((name: string, run: () => Promise<void>) => void) => (has ? test : () => {});
const describeIf = (has: boolean): ((name: string, make: () => void) => void) => (has ? describe : () => {});

/** Splits the events of a reply after the first text. */
function cut(dialect: Dialect, reply = story): readonly [head: string[], tail: string[]] {
	const events = dialect.events(reply);
	const at = events.findIndex((event) => event.includes('One two')) + 1;
	return [events.slice(0, at), events.slice(at)];
}

/** Writes these events and ends the answer. */
function playing(events: readonly string[]): Script {
	return async (exchange) => {
		await exchange.write(events.join(''));
		exchange.end();
	};
}

/** A promise that settles after the reader got a text. */
function firstText() {
	const { promise, resolve } = Promise.withResolvers<void>();
	return { shown: promise, onDelta: (delta: Delta): void => (delta.type === 'text' ? resolve() : undefined) };
}

function theExchange(): Exchange {
	const [exchange] = server.requests;
	if (exchange === undefined) throw new Error('nothing was asked');
	return exchange;
}

describe.each(dialects)('$name', (dialect) => {
	/** A binding has no key, and its errors have no status. */
	const keyless = dialect.keys.length === 0;
	const ask = (way: Way, question: Partial<Question> = {}, settings: Settings = {}, url = server.url) =>
		way.ask(dialect.provider(url, settings), { model: dialect.model, ...question });

	/** Checks the cost before the failure, if the API reports it in time. */
	const expectUsage = (error: RunletError) => {
		if (dialect.can.earlyUsage) expect(error.data?.usage).toMatchObject({ inputTokens: usualUsage.input });
	};

	describe.each(streams)('through $way', (way) => {
		describe('a failed stream keeps its cost and closes its connection', () => {
			test('after a reset in the middle', async () => {
				const { shown, onDelta } = firstText();
				server.play(async (exchange) => {
					await exchange.write(cut(dialect)[0].join(''));
					await shown;
					exchange.reset();
				});
				const outcome = await ask(way, { onDelta });
				const error = readError(outcome);
				expect(['network', 'interrupted']).toContain(error.code);
				expect(error.message).toMatch(/send the message again/i);
				expect(outcome.deltas.some(({ type }) => type === 'stop')).toBe(false);
				expectUsage(error);
				await theExchange().closed;
			});

			test('after an end in the middle', async () => {
				server.play(playing(cut(dialect)[0]));
				const outcome = await ask(way);
				expect(readError(outcome).code).toBe('interrupted');
				expect(outcome.deltas.some(({ type }) => type === 'stop')).toBe(false);
				expectUsage(readError(outcome));
			});

			test('after an end without a terminal event', async () => {
				server.play(playing(dialect.events(story).slice(0, -dialect.ending)));
				const outcome = await ask(way);
				expect(readError(outcome).code).toBe('interrupted');
				expectUsage(readError(outcome));
			});

			test('after an end before the first event', async () => {
				server.play(playing([]));
				expect(readError(await ask(way)).code).toBe('interrupted');
			});

			test.each([
				['overloaded', 'overloaded'],
				['rate_limit', 'rate_limited'],
			] as const)('after an event with the error %s', async (kind, code) => {
				server.play((exchange) => exchange.write([...cut(dialect)[0], dialect.errorEvent(kind)].join('')));
				const outcome = await ask(way);
				const error = readError(outcome);
				expect(dialect.codes?.[kind] ?? [code]).toContain(error.code);
				expect(outcome.deltas.some(({ type }) => type === 'stop')).toBe(false);
				expectUsage(error);
				await theExchange().closed;
			});

			test('after an error as the first event', async () => {
				server.play((exchange) => exchange.write(dialect.errorEvent('overloaded')));
				const error = readError(await ask(way));
				expect(dialect.codes?.overloaded ?? ['overloaded']).toContain(error.code);
				await theExchange().closed;
			});

			test('after an event that is not JSON', async () => {
				const [head, [broken = '']] = cut(dialect);
				server.play((exchange) => exchange.write([...head, `${broken.trimEnd().slice(0, -9)}\n\n`].join('')));
				const error = readError(await ask(way));
				expect(error.code).toBe('interrupted');
				expectUsage(error);
				await theExchange().closed;
			});

			test('after a timeout before the head', async () => {
				server.play(() => {});
				const error = readError(await ask(way, {}, { timeouts: { firstEventMs: 50, idleMs: 60_000 } }));
				expect(error.code).toBe('timeout');
				// The timeout may end the call before the server gets a request.
				await server.requests[0]?.closed;
			});

			test('after a timeout before the first event', async () => {
				server.play((exchange) => exchange.stream());
				const error = readError(await ask(way, {}, { timeouts: { firstEventMs: 50, idleMs: 60_000 } }));
				expect(error.code).toBe('timeout');
				// The timeout may end the call before the server gets a request.
				await server.requests[0]?.closed;
			});

			test('after a timeout between two events', async () => {
				server.play((exchange) => exchange.write(cut(dialect)[0].join('')));
				const outcome = await ask(way, {}, { timeouts: { firstEventMs: 60_000, idleMs: 50 } });
				expect(readError(outcome).code).toBe('timeout');
				expect(joinedText(outcome.deltas, 'text')).toBe('One two');
				expectUsage(readError(outcome));
				await theExchange().closed;
			});
		});

		describe('an abort', () => {
			test('in the middle of an answer closes the connection', async () => {
				const controller = new AbortController();
				const { shown, onDelta } = firstText();
				server.play(async (exchange) => {
					await exchange.write(cut(dialect)[0].join(''));
					await shown;
					controller.abort();
				});
				const outcome = await ask(way, { onDelta, options: { signal: controller.signal } });
				expect(readError(outcome).code).toBe('cancelled');
				await theExchange().closed;
				expectUsage(readError(outcome));
			});

			test('before the first byte closes the connection', async () => {
				const controller = new AbortController();
				server.play(() => {
					controller.abort();
				});
				const outcome = await ask(way, { options: { signal: controller.signal } });
				expect(readError(outcome).code).toBe('cancelled');
				await theExchange().closed;
			});

			test('before the call prevents the request', async () => {
				server.play(playing(dialect.events(story)));
				const outcome = await ask(way, { options: { signal: AbortSignal.abort() } });
				expect(readError(outcome).code).toBe('cancelled');
				expect(server.requests).toHaveLength(0);
			});
		});

		testIf(dialect.can.endsItself)('a complete stream ends at once, and its connection is closed', async () => {
			server.play((exchange) => exchange.write(dialect.events(story).join('')));
			expect(readReply(await ask(way))).toMatchObject({ text: story.text, stopReason: 'end_turn' });
			await theExchange().closed;
		});

		describe('an unusual stream is read', () => {
			const events = dialect.events(story);
			const utf8 = new TextEncoder();
			test.each([
				['lines that end in CR LF', events.map((event) => event.replaceAll('\n', '\r\n'))],
				['a byte order mark', ['\uFEFF', ...events]],
				['comments', [': hello\n\n', ...events.flatMap((event) => [': ping\n\n', event, ':\n'])]],
				['empty lines', ['\n\n', ...events.map((event) => `\n${event}\n\n`)]],
				['no blank after the colon', events.map((event) => event.replaceAll(/^(data|event): /gm, '$1:'))],
				['unknown fields', events.map((event) => `id: 7\nretry: 10\nmood: sunny\n${event}`)],
				['no line end after the last event', [...events.slice(0, -1), events.at(-1)?.trimEnd() ?? '']],
				[
					'unknown events',
					[
						events[0] ?? '',
						...events.slice(1, -1).flatMap((event) => [event, ...dialect.unknownEvents]),
						events.at(-1) ?? '',
					],
				],
			])('with %s', async (_, odd) => {
				server.play(playing(odd));
				const { reply, deltas, error } = await ask(way);
				expect(error).toBeUndefined();
				expect(reply).toMatchObject({ text: story.text, stopReason: 'end_turn' });
				expect(joinedText(deltas, 'text')).toBe(story.text);
				expect(reply?.usage).toMatchObject({ inputTokens: usualUsage.input, outputTokens: usualUsage.output });
			});

			test('with a character that is split into two chunks', async () => {
				const { shown, onDelta } = firstText();
				const bytes = utf8.encode(events.join(''));
				const middle = bytes.findIndex((byte, at) => byte === 0xe2 && bytes[at + 1] === 0x9c) + 1;
				server.play(async (exchange) => {
					await exchange.write(bytes.slice(0, middle));
					await shown;
					await exchange.write(bytes.slice(middle));
					exchange.end();
				});
				const { deltas, ...outcome } = await ask(way, { onDelta });
				expect(readReply({ deltas, ...outcome }).text).toBe(story.text);
				expect(joinedText(deltas, 'text')).toBe(story.text);
			});
		});

		describeIf(dialect.can.textArguments)('the calls of a reply', () => {
			const calling = (calls: NonNullable<NeutralReply['calls']>, stop: NeutralReply['stop'] = 'tool_use') =>
				playing(dialect.events({ text: 'Let me look.', calls, stop }));

			test('a call is dropped if max_tokens cut its input', async () => {
				server.play(calling([{ id: 'call_1', name: 'look', argumentsJson: '{"city":"Ul' }], 'max_tokens'));
				const reply = readReply(await ask(way, { tools: [look] }));
				expect(reply).toMatchObject({ text: 'Let me look.', stopReason: 'max_tokens' });
				expect(readCalls(reply)).toEqual([]);
			});

			test('a call keeps an input that is not JSON', async () => {
				server.play(calling([{ id: 'call_1', name: 'look', argumentsJson: '{"city": Ulm}' }]));
				const reply = readReply(await ask(way, { tools: [look] }));
				expect(readCalls(reply)).toEqual([{ id: 'call_1', name: 'look', input: '{"city": Ulm}' }]);
				expect(reply.stopReason).toBe('tool_use');
			});

			test('a call gets a suffix if its id is repeated', async () => {
				server.play(
					calling([
						{ id: 'call_1', name: 'look', argumentsJson: '{"city":"Ulm"}' },
						{ id: 'call_1', name: 'look', argumentsJson: '{"city":"Bonn"}' },
					]),
				);
				const outcome = await ask(way, { tools: [look] });
				const calls = readCalls(readReply(outcome));
				expect(calls.map(({ input }) => input)).toEqual([{ city: 'Ulm' }, { city: 'Bonn' }]);
				expect(outcome.deltas.filter(({ type }) => type === 'tool_use_start')).toHaveLength(2);
				if (way === ran) expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
			});

			test('a call of an unknown tool is passed on', async () => {
				server.play(calling([{ id: 'call_1', name: 'unheard_of', argumentsJson: '{}' }]));
				const reply = readReply(await ask(way, { tools: [look] }));
				expect(readCalls(reply)).toEqual([{ id: 'call_1', name: 'unheard_of', input: {} }]);
			});

			testIf(way === ran)('a call whose input is not JSON gets an error result, and the run continues', async () => {
				server.play(
					calling([{ id: 'call_1', name: 'look', argumentsJson: '{"city": Ulm}' }]),
					playing(dialect.events({ text: 'Sorry.', stop: 'end_turn' })),
				);
				const tool: Tool = { ...look, fn: () => 'sunny', passInput: true };
				const options = { model: dialect.model, providers: [dialect.provider(server.url)], tools: [tool] };
				const { text, messages } = await chat.run(options, [chat.userMessage('Hello')]).result;
				expect(text).toBe('Sorry.');
				expect(messages.find(({ role }) => role === 'tool')).toMatchObject({ isError: true });
				dialect.readRequest(server.requests[1]?.body, server.requests[1]?.path ?? '');
			});
		});
	});

	describe.each(everyWay)('errors through $way', (way) => {
		const usual: readonly (readonly [Fault, string])[] = [
			['rate_limit', 'rate_limited'],
			['quota', 'rate_limited'],
			['overloaded', 'overloaded'],
			['auth', 'auth'],
			['not_found', 'invalid_request'],
			['context', 'context_overflow'],
			['too_large', 'context_overflow'],
			['filter', 'content_filtered'],
		];
		test.each(usual.filter(([kind]) => dialect.errorBody(kind) !== undefined))('%s becomes %s', async (kind, code) => {
			const { status, body } = dialect.errorBody(kind) ?? { status: 500, body: {} };
			server.play((exchange) => exchange.json(status, body));
			const error = readError(await ask(way));
			expect(dialect.codes?.[kind] ?? [code]).toContain(error.code);
			expect(error.message.length).toBeGreaterThan(10);
			expect(server.requests).toHaveLength(1);
		});

		if (!keyless)
			test.each([
				[400, 'invalid_request'],
				[401, 'auth'],
				[403, 'auth'],
				[500, 'overloaded'],
				[502, 'overloaded'],
				[503, 'overloaded'],
			])('a status %i without a body has the code %s', async (status, code) => {
				server.play((exchange) => exchange.json(status, {}));
				expect(readError(await ask(way)).code).toBe(code);
			});

		if (dialect.can.retryAfter)
			test.each([
				['in seconds', (): string => '7', 7, 7],
				['as a date', (): string => new Date(Date.now() + 30_000).toUTCString(), 25, 31],
			] as const)("an error reports the server's retry delay, given %s", async (_, header, least, most) => {
				const { status, body } = dialect.errorBody('rate_limit') ?? { status: 429, body: {} };
				server.play((exchange) => exchange.json(status, body, { 'retry-after': header() }));
				const error = readError(await ask(way));
				expect(error.code).toBe('rate_limited');
				expect(error.data?.retryAfter).toBeGreaterThanOrEqual(least);
				expect(error.data?.retryAfter).toBeLessThanOrEqual(most);
			});

		const page = `<!doctype html><html><body><h1>Bad gateway</h1>${'<p>The proxy is sorry.</p>'.repeat(200)}</body></html>`;
		test.each([502, 200])('a web page with status %i is a failure, and its text is not shown', async (status) => {
			server.play((exchange) => exchange.html(status, page));
			const error = readError(await ask(way));
			expect(['overloaded', 'interrupted', 'network', 'provider_error', 'invalid_request']).toContain(error.code);
			expect(error.message).not.toContain('<');
			expect(error.message.length).toBeLessThan(400);
			expect(JSON.stringify(error)).not.toContain('<p>');
		});

		test('a refused connection is a network failure', async () => {
			expect(readError(await ask(way, {}, {}, await deadUrl())).code).toBe('network');
		});

		test('a connection reset before the head is a network failure', async () => {
			server.play((exchange) => exchange.reset());
			expect(['network', 'interrupted']).toContain(readError(await ask(way)).code);
		});

		testIf(!keyless)('no error shows the key, even if the text of the server has it', async () => {
			const said = `Incorrect API key provided: ${secretKey}. You sent ${dialect.keys.join(' and ')}.`;
			const scripts: Script[] = [];
			for (const kind of ['auth', 'rate_limit', 'overloaded', 'not_found', 'context'] as const) {
				const { status, body } = dialect.errorBody(kind, said) ?? { status: 500, body: {} };
				scripts.push((exchange) => exchange.json(status, body, { 'x-request-id': secretKey }));
			}
			scripts.push((exchange) => exchange.html(502, `<p>${said}</p>`));
			scripts.push((exchange) => exchange.json(418, { [secretKey]: said, detail: said }));
			const provider = dialect.provider(server.url);
			server.play(...scripts);
			for (const _ of scripts) {
				const outcome = await way.ask(provider, { model: dialect.model });
				const error = readError(outcome);
				expect(error.message).not.toContain(secretKey);
				expect(JSON.stringify(error)).not.toContain(secretKey);
				expect(JSON.stringify(error.data ?? {})).not.toContain(secretKey);
				expect(JSON.stringify(outcome.events)).not.toContain(secretKey);
			}
		});
	});

	testIf(!keyless)('no error within a stream shows the key', async () => {
		const said = `Overloaded. Your key: ${secretKey}`;
		const event = dialect.errorEvent('overloaded').replace(/"message":"[^"]*"/, `"message":"${said}"`);
		expect(event).toContain(secretKey);
		server.play(playing([...cut(dialect)[0], event]));
		const outcome = await ask(ran);
		expect(JSON.stringify([outcome.error, outcome.events])).not.toContain(secretKey);
		expect(outcome.error?.message).not.toContain(secretKey);
	});

	describe('a whole answer', () => {
		test.each(['{"oops', '', 'null', '[]', '{}'])('with the body %j is a failure', async (text) => {
			server.play(async (exchange) => {
				exchange.stream({ 'content-type': 'application/json' });
				await exchange.write(text === '' ? '\n' : text);
				exchange.end();
			});
			const error = readError(await ask(whole));
			expect(['interrupted', 'provider_error']).toContain(error.code);
		});

		test('is a failure if it arrives only in part', async () => {
			server.play(async (exchange) => {
				exchange.stream({ 'content-type': 'application/json', 'content-length': '5000' });
				await exchange.write('{"id":');
				exchange.reset();
			});
			expect(['network', 'interrupted']).toContain(readError(await ask(whole)).code);
		});

		test('times out if it does not arrive, and its connection is closed', async () => {
			server.play(() => {});
			expect(readError(await ask(whole, {}, { timeouts: { firstEventMs: 50 } })).code).toBe('timeout');
			// The timeout may end the call before the server gets a request.
			await server.requests[0]?.closed;
		});

		test('is cancelled by an abort, and its connection is closed', async () => {
			const controller = new AbortController();
			server.play(() => controller.abort());
			const outcome = await ask(whole, { options: { signal: controller.signal } });
			expect(readError(outcome).code).toBe('cancelled');
			await theExchange().closed;
		});
	});

	describe('a temporary failure', () => {
		const fail: Script = (exchange) => {
			const { status, body } = dialect.errorBody('overloaded') ?? { status: 503, body: {} };
			exchange.json(status, body, { 'retry-after': '0' });
		};
		const succeed: Script = (exchange) => {
			const wanted = dialect.readRequest(exchange.body, exchange.path).stream;
			return wanted ? playing(dialect.events(story))(exchange) : exchange.json(200, dialect.body(story));
		};

		test.each([streamed, whole])('is not retried by $way by default', async (way) => {
			server.play(fail, succeed);
			readError(await ask(way));
			expect(server.requests).toHaveLength(1);
		});

		test.each([streamed, whole])('is retried by $way up to maxRetries', async (way) => {
			server.play(fail, succeed);
			expect(readReply(await ask(way, {}, { maxRetries: 1 })).text).toBe(story.text);
			expect(server.requests).toHaveLength(2);
		});

		test.each([streamed, whole])('is not retried by $way after maxRetries', async (way) => {
			server.play(fail);
			readError(await ask(way, {}, { maxRetries: 1 }));
			expect(server.requests).toHaveLength(2);
		});

		test('is retried by the run, not by the provider', async () => {
			server.play(fail, succeed);
			const options = { model: dialect.model, providers: [dialect.provider(server.url)] };
			expect((await chat.run(options, [chat.userMessage('Hello')]).result).text).toBe(story.text);
			expect(server.requests).toHaveLength(2);
		});

		test('is not retried if an abort ends the wait before the retry', async () => {
			const controller = new AbortController();
			server.play(async (exchange) => {
				const { status, body } = dialect.errorBody('overloaded') ?? { status: 503, body: {} };
				exchange.json(status, body, { 'retry-after': '30' });
				await exchange.closed;
				controller.abort();
			});
			const error = readError(await ask(streamed, { options: { signal: controller.signal } }, { maxRetries: 5 }));
			expect(error.code).toBe('cancelled');
			expect(server.requests).toHaveLength(1);
		});

		test('is not retried after a delta was shown', async () => {
			server.play(
				(exchange) => exchange.write([...cut(dialect)[0], dialect.errorEvent('overloaded')].join('')),
				succeed,
			);
			readError(await ask(streamed, {}, { maxRetries: 2 }));
			expect(server.requests).toHaveLength(1);
		});
	});
});

describe('openai and similar providers', () => {
	const asking = (name: string) => {
		const dialect = dialects.find((one) => one.name === name);
		if (dialect === undefined) throw new Error(`no dialect ${name}`);
		return dialect;
	};

	test.each(['openai', 'openai-chat'])('%s does not retry after the quota is used up', async (name) => {
		const dialect = asking(name);
		const { status, body } = dialect.errorBody('quota') ?? { status: 500, body: {} };
		server.play((exchange) => exchange.json(status, body));
		const options = { model: dialect.model, providers: [dialect.provider(server.url, { maxRetries: 2 })] };
		await expect(chat.run(options, [chat.userMessage('Hello')]).result).rejects.toMatchObject({ code: 'rate_limited' });
		expect(server.requests).toHaveLength(1);
		const error = readError(
			await streamed.ask(dialect.provider(server.url, { maxRetries: 2 }), { model: dialect.model }),
		);
		expect(error.code).toBe('rate_limited');
		expect(server.requests).toHaveLength(2);
	});

	test.each(everyWay)('xai reports a wrong key with status 400 as auth, through $way', async (way) => {
		const dialect = asking('xai');
		const error = 'Incorrect API key provided: xa***42. You can obtain an API key from https://console.x.ai.';
		server.play((exchange) => exchange.json(400, { code: 'Client specified an invalid argument', error }));
		expect(readError(await way.ask(dialect.provider(server.url), { model: dialect.model })).code).toBe('auth');
	});

	test.each(streams)('openai reads an error event in the newer form, through $way', async (way) => {
		const dialect = asking('openai');
		const error = { type: 'tokens', code: 'rate_limit_exceeded', message: 'Rate limit reached.', param: null };
		server.play(playing([...cut(dialect)[0], sse({ type: 'error', sequence_number: 9, error }, 'error')]));
		const failed = readError(await way.ask(dialect.provider(server.url), { model: dialect.model }));
		expect(failed.code).toBe('rate_limited');
	});
});

describe.each(streams)('gemini through $way', (way) => {
	const dialect = dialects.find(({ name }) => name === 'gemini') ?? dialects[0];
	if (dialect === undefined) throw new Error('there are no dialects');
	const ask = () => way.ask(dialect.provider(server.url), { model: dialect.model });

	test('reports a wrong key with status 400 as auth', async () => {
		const details = [
			{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
		];
		const message = 'API key not valid. Please pass a valid API key.';
		server.play((exchange) =>
			exchange.json(400, { error: { code: 400, message, status: 'INVALID_ARGUMENT', details } }),
		);
		expect(readError(await ask()).code).toBe('auth');
	});

	test.each([
		['34s', 34],
		['2.5s', 2.5],
	])('reads the delay %s of a RetryInfo as %d seconds', async (retryDelay, seconds) => {
		const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }];
		const message = 'You exceeded your current quota.';
		server.play((exchange) =>
			exchange.json(429, { error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details } }),
		);
		const error = readError(await ask());
		expect(error.code).toBe('rate_limited');
		expect(error.data?.retryAfter).toBe(seconds);
	});

	test('reads a call without arguments', async () => {
		const reply: NeutralReply = { calls: [{ id: 'call_1', name: 'look', argumentsJson: '' }], stop: 'tool_use' };
		server.play(playing(dialect.events(reply)));
		expect(readCalls(readReply(await ask()))).toEqual([{ id: 'call_1', name: 'look', input: {} }]);
	});
});

describe.each(dialects.filter(({ name }) => name === 'openai-chat' || name === 'workers-ai'))('$name', (dialect) => {
	describe.each(streams)('through $way, the calls of an imprecise server', (way) => {
		const ask = async (deltas: readonly unknown[]) => {
			const events = [chunk({ role: 'assistant', content: '' }), ...deltas.map((delta) => chunk(delta))];
			server.play(playing([...events, chunk({}, 'tool_calls'), usageChunk(usualUsage), done]));
			const outcome = await way.ask(dialect.provider(server.url), { model: dialect.model, tools: [look] });
			return readCalls(readReply(outcome));
		};
		const call = (fields: unknown) => ({ tool_calls: [fields] });
		const begun = (id: string, json: string | undefined, more: object = {}) =>
			call({
				id,
				type: 'function',
				function: { name: 'look', arguments: json },
				...more,
			});
		const piece = (json: string, more: object = {}) => call({ function: { arguments: json }, ...more });
		const two = [
			{ id: 'a', name: 'look', input: { city: 'Ulm' } },
			{ id: 'b', name: 'look', input: { city: 'Bonn' } },
		];

		test('are distinguished without an index', async () => {
			expect(await ask([begun('a', '{"city":'), piece('"Ulm"}'), begun('b', '{"city":'), piece('"Bonn"}')])).toEqual(
				two,
			);
		});

		test('are distinguished if they have the same index', async () => {
			const index = { index: 0 };
			expect(
				await ask([
					begun('a', '{"city":', index),
					piece('"Ulm"}', index),
					begun('b', '{"city":', index),
					piece('"Bonn"}', index),
				]),
			).toEqual(two);
		});

		test('are distinguished if their pieces are mixed', async () => {
			expect(
				await ask([
					begun('a', '{"city":', { index: 0 }),
					begun('b', '{"city":', { index: 1 }),
					piece('"Ulm"}', { index: 0 }),
					piece('"Bonn"}', { index: 1 }),
				]),
			).toEqual(two);
		});

		test('are both read if one piece contains both', async () => {
			const calls = [begun('a', '{"city":"Ulm"}', { index: 0 }), begun('b', '{"city":"Bonn"}', { index: 1 })];
			expect(await ask([{ tool_calls: calls.flatMap(({ tool_calls }) => tool_calls) }])).toEqual(two);
		});

		test('stay one call if each piece repeats the id and the name', async () => {
			const again = (json: string) => begun('a', json, { index: 0 });
			expect(await ask([again('{"city":'), again('"Ulm"'), again('}')])).toEqual(two.slice(0, 1));
		});

		test('stay one call if later pieces have an empty id and no name', async () => {
			const later = (json: string): unknown =>
				call({ index: 0, id: '', type: 'function', function: { name: null, arguments: json } });
			expect(await ask([begun('a', '', { index: 0 }), later('{"city":'), later('"Ulm"}')])).toEqual(two.slice(0, 1));
		});

		test('can have indexes that begin at 1', async () => {
			expect(await ask([begun('a', '{"city":"Ulm"}', { index: 1 })])).toEqual(two.slice(0, 1));
		});

		test('get an id if they have none', async () => {
			const calls = await ask([call({ index: 0, type: 'function', function: { name: 'look', arguments: '{}' } })]);
			expect(calls).toMatchObject([{ name: 'look', input: {} }]);
			expect(calls[0]?.id).not.toBe('');
		});

		test.each([[''], [undefined]])('have no arguments if their JSON is %j', async (json) => {
			expect(await ask([begun('a', json, { index: 0 })])).toEqual([{ id: 'a', name: 'look', input: {} }]);
		});

		test('are an empty list if the pieces have null for missing fields', async () => {
			const nothing = { content: null, tool_calls: null, refusal: null, reasoning_content: null, function_call: null };
			server.play(
				playing([
					sse({ id: null, object: 'chat.completion.chunk', choices: [], usage: null }),
					chunk({ role: 'assistant', ...nothing }),
					chunk(null),
					chunk({ ...nothing, content: 'Hi' }),
					sse({ object: 'chat.completion.chunk', choices: null, usage: null }),
					chunk(nothing, 'stop'),
					usageChunk(usualUsage),
					sse({ object: 'chat.completion.chunk', choices: [], usage: null }),
					done,
				]),
			);
			const { reply } = await way.ask(dialect.provider(server.url), { model: dialect.model });
			expect(reply).toMatchObject({ text: 'Hi', stopReason: 'end_turn', usage: { inputTokens: usualUsage.input } });
			expect(readCalls(reply ?? { stopReason: '' })).toEqual([]);
		});
	});

	test('a whole answer can have null for missing fields', async () => {
		const message = { role: 'assistant', content: 'Hi', tool_calls: null, refusal: null, reasoning_content: null };
		const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }];
		server.play((exchange) => exchange.json(200, { id: null, object: 'chat.completion', choices, usage: null }));
		const reply = readReply(await whole.ask(dialect.provider(server.url), { model: dialect.model }));
		expect(reply).toMatchObject({ text: 'Hi', stopReason: 'end_turn' });
		expect(readCalls(reply)).toEqual([]);
	});
});
