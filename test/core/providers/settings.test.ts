import { afterAll, describe, expect, test, vi } from 'vitest';
import { chat, type ProviderRegistration, providers, RunletError } from '../../../src/core/index.ts';
import { anthropic as dialect } from './wire/anthropic.ts';
import { secretKey as apiKey } from './wire/dialect.ts';
import { dialects } from './wire/dialects.ts';
import { type Exchange, type Script, startServer } from './wire/server.ts';

const server = await startServer();
afterAll(() => server.close());

const { model } = dialect;
const hello = [chat.userMessage('Hello')];
const answer: Script = async (exchange) => {
	await exchange.write(dialect.events({ text: 'Hi', stop: 'end_turn' }).join(''));
	exchange.end();
};
const busy: Script = (exchange) => {
	const { status, body } = dialect.errorBody('overloaded') ?? { status: 503, body: {} };
	exchange.json(status, body, { 'retry-after': '0' });
};
const made = (more: object = {}) => providers.anthropic({ apiKey, baseURL: server.url, ...more });
const stream = (provider: ReturnType<typeof made>, options: chat.CallOptions = {}) =>
	provider.chatStreamFn?.(model, hello, undefined, undefined, () => undefined, options);

describe('retries', () => {
	test('are 0 outside of a run by default', async () => {
		server.play(busy, answer);
		await expect(stream(made())).rejects.toMatchObject({ code: 'overloaded' });
		expect(server.requests).toHaveLength(1);
	});

	test('can be set for the provider or for the call', async () => {
		server.play(busy, busy, answer);
		expect(await stream(made({ maxRetries: 2 }))).toMatchObject({ text: 'Hi' });
		expect(server.requests).toHaveLength(3);
		server.play(busy, answer);
		expect(await stream(made({ maxRetries: 0 }), { maxRetries: 1 })).toMatchObject({ text: 'Hi' });
		expect(server.requests).toHaveLength(2);
	});

	test('are 0 for a caller with onActivity, because that caller retries itself', async () => {
		let signs = 0;
		const onActivity = () => void signs++;
		server.play(busy, answer);
		await expect(stream(made({ maxRetries: 2 }), { onActivity })).rejects.toMatchObject({ code: 'overloaded' });
		expect(server.requests).toHaveLength(1);
		expect(await stream(made({ timeouts: { firstEventMs: 0 } }), { onActivity })).toMatchObject({ text: 'Hi' });
		expect(signs).toBeGreaterThan(0);
	});

	test('are two in a run by default, and can be set for the run or for the provider', async () => {
		const requests = async (provider: object, options: object = {}) => {
			server.play(busy);
			const run = chat.run({ model, providers: [made(provider)], ...options }, hello);
			await expect(run.result).rejects.toMatchObject({ code: 'overloaded' });
			return server.requests.length;
		};
		expect(await requests({})).toBe(3);
		expect(await requests({ maxRetries: 1 })).toBe(2);
		expect(await requests({ maxRetries: 1 }, { maxRetries: 0 })).toBe(1);
	});
});

describe('timeouts', () => {
	const stall: Script = async (exchange) => {
		const [first = ''] = dialect.events({ text: 'Hi', stop: 'end_turn' });
		await exchange.write(first);
		await exchange.closed;
	};

	test('can be set for the provider, the call or the run', async () => {
		server.play(stall);
		await expect(stream(made({ timeouts: { idleMs: 30 } }))).rejects.toMatchObject({ code: 'timeout' });
		await expect(stream(made(), { timeouts: { idleMs: 30 } })).rejects.toMatchObject({ code: 'timeout' });
		for (const [own, options] of [
			[{ timeouts: { idleMs: 30 } }, {}],
			[{ timeouts: { idleMs: 60_000 } }, { timeouts: { idleMs: 30 } }],
		]) {
			const run = chat.run({ model, providers: [made(own)], maxRetries: 0, ...options }, hello);
			await expect(run.result).rejects.toMatchObject({ code: 'timeout' });
		}
		await Promise.all(server.requests.map(({ closed }) => closed));
	});

	test('do not end a request if the model sends no text but shows activity', async () => {
		const signs = async (exchange: Exchange, sign: string) => {
			const [first = '', ...rest] = dialect.events({ text: 'Hi', stop: 'end_turn' });
			await exchange.write(first);
			for (let n = 0; n < 10; n++) {
				await exchange.write(sign);
				await new Promise((resolve) => setTimeout(resolve, 200));
			}
			await exchange.write(rest.join(''));
			exchange.end();
		};
		const timeouts = { idleMs: 1_500 };
		for (const sign of ['event: ping\ndata: {"type":"ping"}\n\n', ': still here\n']) {
			server.play((exchange) => signs(exchange, sign));
			expect(await stream(made({ timeouts }))).toMatchObject({ text: 'Hi' });
			const run = chat.run({ model, providers: [made()], timeouts, maxRetries: 0 }, hello);
			expect(await run.result).toMatchObject({ text: 'Hi' });
		}
	});
});

describe('a provider without its key', () => {
	test('recognizes its models, and names the missing variable in errors', async () => {
		for (const key of [undefined, '']) {
			const keyless = providers.anthropic({ apiKey: key });
			expect(keyless).toMatchObject({ variant: 'anthropic', needs: 'ANTHROPIC_API_KEY' });
			expect(keyless.chatFn ?? keyless.chatStreamFn ?? keyless.embedFn).toBeUndefined();
			await expect(chat.runLoop({ model, providers: [keyless] }, 'Hello')).rejects.toMatchObject({
				code: 'not_configured',
				message: expect.stringContaining('ANTHROPIC_API_KEY'),
			});
		}
	});

	test('is not replaced by a fallback', async () => {
		const options = {
			model,
			fallbacks: ['demo'],
			providers: [providers.demo(), providers.anthropic({ apiKey: undefined })],
		};
		await expect(chat.runLoop(options, 'Hello')).rejects.toMatchObject({ code: 'not_configured' });
	});
});

describe('a fallback without its key', () => {
	test('is left out with a warning, and the later fallbacks are still tried', async () => {
		const missing = providers.gemini({ apiKey: undefined });
		const warnings = async (fallbacks: readonly string[]) => {
			server.play(busy);
			const run = chat.run({ model, fallbacks, providers: [providers.demo(), missing, made()], maxRetries: 0 }, hello);
			const seen: string[] = [];
			for await (const event of run.events) if (event.type === 'warning') seen.push(event.message);
			return { seen, result: run.result };
		};
		const { seen, result } = await warnings(['gemini-2.5-flash', 'demo']);
		expect(await result).toMatchObject({ status: 'completed', text: expect.stringContaining('demo model') });
		expect(seen).toEqual([expect.stringContaining('GEMINI_API_KEY'), expect.stringContaining('asking demo')]);
		const alone = await warnings(['gemini-2.5-flash', 'nobody']);
		await expect(alone.result).rejects.toMatchObject({ code: 'overloaded' });
		expect(alone.seen).toHaveLength(2);
	});
});

describe('an invalid setting', () => {
	test.each([
		[{ baseURL: 'my gateway' }, 'baseURL'],
		[{ baseURL: 'https://gateway.example/v1?key=1' }, 'baseURL'],
		[{ baseURL: 'ftp://gateway.example' }, 'baseURL'],
		[{ maxRetries: -1 }, 'maxRetries'],
		[{ maxRetries: 1.5 }, 'maxRetries'],
	])('is refused, and the error names the field: %j', (more, field) => {
		expect(() => made(more)).toThrow(expect.objectContaining({ code: 'invalid_request', data: { field } }));
	});
});

describe('the body and headers of the settings', () => {
	test('reach the request, which merges objects and joins lists', async () => {
		server.play(answer);
		const web = { type: 'web_search_20250305', name: 'web_search' };
		const provider = made({
			body: { temperature: 0, tools: [web], metadata: { user_id: 'u' } },
			headers: { 'anthropic-beta': 'x' },
		});
		const tool = { name: 'add', description: 'Adds.', inputSchema: { type: 'object', properties: {} } };
		await provider.chatStreamFn?.(model, hello, undefined, [tool], () => undefined);
		const [request] = server.requests;
		expect(request?.body).toMatchObject({
			temperature: 0,
			tools: [{ name: 'add' }, web],
			metadata: { user_id: 'u' },
		});
		expect(request?.headers['anthropic-beta']).toBe('x');
	});
});

test('a tool is forced once, and after the result of the tool the model chooses freely', async () => {
	const call = { id: 'toolu_1', name: 'add', argumentsJson: '{}' };
	server.play(async (exchange) => {
		await exchange.write(dialect.events({ calls: [call], stop: 'tool_use' }).join(''));
		exchange.end();
	}, answer);
	const tool = { name: 'add', description: 'Adds.', inputSchema: { type: 'object' }, fn: () => 1 };
	await chat.runLoopStream({ model, providers: [made()], tools: [tool], toolChoice: 'required' }, 'Hello');
	const choices = server.requests.map(({ body, path }) => dialect.readRequest(body, path).toolChoice);
	expect(choices).toEqual(['required', 'auto']);
});

test("Anthropic's cache marks are at the tools, the system prompt and the newest message", async () => {
	const marks = async (cache?: '5m' | '1h' | false) => {
		server.play(answer);
		const tools = ['a', 'b'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
		await made({ cache }).chatStreamFn?.(
			model,
			[...hello, { role: 'assistant', content: 'Hi' }, ...hello],
			'Be brief.',
			tools,
			() => undefined,
		);
		return server.requests[0]?.body;
	};
	const mark = { type: 'ephemeral' };
	expect(await marks()).toMatchObject({
		tools: [expect.not.objectContaining({ cache_control: mark }), { cache_control: mark }],
		system: [{ cache_control: mark }],
		messages: [{}, {}, { content: [{ cache_control: mark }] }],
	});
	expect(JSON.stringify(await marks('1h'))).toContain('"ttl":"1h"');
	expect(JSON.stringify(await marks(false))).not.toContain('cache_control');
});

describe.each(dialects.filter(({ name }) => name !== 'workers-ai').map((one) => [one.name, one] as const))(
	'%s protects its key: it',
	(_, one) => {
		const ask = (provider: ProviderRegistration) => provider.chatFn?.(one.model, hello);

		test('sends neither the key nor the conversation to the target of a redirect', async () => {
			const elsewhere = await startServer();
			elsewhere.play(answer);
			server.play((exchange) => exchange.json(307, {}, { location: `${elsewhere.url}${exchange.path}` }));
			await expect(ask(one.provider(server.url))).rejects.toMatchObject({
				code: 'network',
				message: expect.stringContaining('base URL'),
			});
			expect(elsewhere.requests).toEqual([]);
			await elsewhere.close();
		});

		test('sends no headers from environment variables', async () => {
			const stranger = 'authorization: Bearer stranger\nx-api-key: stranger\nx-goog-api-key: stranger\nx-stranger: 1';
			for (const name of ['OPENAI', 'ANTHROPIC']) vi.stubEnv(`${name}_CUSTOM_HEADERS`, stranger);
			server.play((exchange) => exchange.json(200, one.body({ text: 'Hi', stop: 'end_turn' })));
			await ask(one.provider(server.url));
			vi.unstubAllEnvs();
			expect(JSON.stringify(server.requests[0]?.headers)).toContain(apiKey);
			expect(JSON.stringify(server.requests[0]?.headers)).not.toContain('stranger');
		});
	},
);

test('an error shows no credentials of a gateway', async () => {
	const headers = { authorization: 'Bearer gateway-token-999', 'x-team': 'provided' };
	server.play((exchange) => exchange.json(401, { error: { message: 'No: gateway-token-999, as provided' } }));
	await expect(made({ headers }).chatFn?.(model, hello)).rejects.toThrow('No: [key], as provided.');
	const baseURL = server.url.replace('://', '://me:open-sesame@');
	const asked = providers.gemini({ apiKey, baseURL }).chatFn?.('gemini-2.5-flash', hello);
	const failure: unknown = await Promise.resolve(asked).catch((error: unknown) => error);
	expect(failure).toBeInstanceOf(RunletError);
	expect(`${failure} ${JSON.stringify(failure)}`).not.toContain('open-sesame');
});

test.each(['anthropic', 'openai', 'xai', 'gemini', 'groq', 'deepseek', 'mistral', 'openaiChat', 'workersAi'] as const)(
	'%s without settings fails with a RunletError',
	(name) => {
		expect(() => Reflect.apply(providers[name], undefined, [])).toThrow(RunletError);
	},
);

test('the fetch function of the settings gets a Headers object', async () => {
	const sent: (HeadersInit | undefined)[] = [];
	server.play(answer);
	const fetcher: typeof fetch = async (input, init) => {
		sent.push(init?.headers);
		return fetch(input, init);
	};
	await stream(made({ fetch: fetcher, headers: { 'X-Tenant': 'a' } }));
	const [headers] = sent;
	expect(headers).toBeInstanceOf(Headers);
	expect(Object.fromEntries(new Headers(headers))).toMatchObject({
		authorization: `Bearer ${apiKey}`,
		'x-tenant': 'a',
	});
});
