import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorker } from '../bundle.ts';
import { anthropic } from '../core/providers/wire/anthropic.ts';
import { chatCompletions } from '../core/providers/wire/chat.ts';
import { secretKey, usualUsage } from '../core/providers/wire/dialect.ts';
import { deadUrl, startServer, type WireServer } from '../core/providers/wire/server.ts';

const root = resolve(import.meta.dirname, '../..');
const { model } = anthropic;
const call = { id: 'toolu_1', name: 'calculate', argumentsJson: '{"expression":"17 + 25"}' };

let upstream: WireServer;
beforeAll(async () => {
	upstream = await startServer();
});
afterAll(() => upstream?.close());

describe('the Worker with a key', () => {
	let runlet: Awaited<ReturnType<typeof startWorker>>;
	beforeAll(async () => {
		const variables = { MODEL: model, ANTHROPIC_API_KEY: secretKey, ANTHROPIC_BASE_URL: upstream.url };
		runlet = await startWorker({ ...variables, LOCAL: 'true' });
	});
	afterAll(() => runlet?.close());

	const ask = (accept: string) =>
		fetch(`${runlet.url}/v1/sessions`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', accept },
			body: JSON.stringify({ agent: 'assistant', text: 'What is 17 + 25?' }),
		});

	test('a run uses its model and its tools, reports its cost, and reveals no key', async () => {
		upstream.play(
			async (exchange) => {
				for (const event of anthropic.events({ calls: [call], stop: 'tool_use' })) await exchange.write(event);
				exchange.end();
			},
			async (exchange) => {
				for (const event of anthropic.events({ text: 'It is 42.', stop: 'end_turn' })) await exchange.write(event);
				exchange.end();
			},
		);
		const streamed = await (await ask('text/event-stream')).text();
		const events = [...streamed.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data));
		expect(events.map(({ type }) => type)).toEqual(
			expect.arrayContaining(['run.started', 'tool_use_start', 'tool_result', 'text', 'done']),
		);
		expect(events.find(({ type }) => type === 'tool_result')).toMatchObject({ output: 42, isError: false });
		expect(events.at(-1)).toMatchObject({ type: 'done', text: 'It is 42.', usage: { costUsd: expect.any(Number) } });
		expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill(`Bearer ${secretKey}`));
		const [, second] = upstream.requests;
		const turns = anthropic.readRequest(second?.body, second?.path ?? '').turns.flatMap(({ parts }) => parts);
		expect(turns.find(({ kind }) => kind === 'result')).toMatchObject({ id: call.id, text: '42' });
		expect(streamed).not.toContain(secretKey);
		upstream.check();
	});

	test('a refused key ends the run with an error that names the variable, but not the key', async () => {
		upstream.play((exchange) => {
			exchange.json(401, {
				type: 'error',
				error: { type: 'authentication_error', message: `invalid x-api-key ${secretKey}` },
			});
		});
		const streamed = await (await ask('text/event-stream')).text();
		expect(streamed).toMatch(/event: error\ndata: .*"code":"auth".*ANTHROPIC_API_KEY/);
		expect(streamed).not.toContain(secretKey);
		expect(upstream.requests).toHaveLength(1);
	});

	test('cancel closes the connection to the model', async () => {
		const asked = Promise.withResolvers<void>();
		upstream.play(async (exchange) => {
			const [first = '', second = ''] = anthropic.events({ text: 'Long ago', stop: 'end_turn' });
			await exchange.write(first + second);
			asked.resolve();
			await exchange.closed;
		});
		const response = await ask('text/event-stream');
		await asked.promise;
		const path = response.headers.get('location');
		const cancelled = await fetch(`${runlet.url}${path}/cancel`, { method: 'POST' });
		expect(cancelled.status).toBe(200);
		expect(await response.text()).toContain('event: cancelled');
		await upstream.requests[0]?.closed;
	});

	test('GET /v1/agents shows that the model is ready', async () => {
		const { agents }: { agents: unknown } = JSON.parse(await (await fetch(`${runlet.url}/v1/agents`)).text());
		expect(agents).toContainEqual(
			expect.objectContaining({
				name: 'assistant',
				models: [{ name: model, provider: 'Anthropic', ready: true, contextWindow: expect.any(Number) }],
			}),
		);
	});
});

describe('a Worker with a custom endpoint and prices', () => {
	const start = (MODEL: string) => {
		const chat = { CHAT_BASE_URL: `${upstream.url}/v1`, CHAT_API_KEY: secretKey, CHAT_MODELS: 'llama, qwen' };
		const PRICES = JSON.stringify({ llama: { input: 3_000, output: 0 } });
		return startWorker({ MODEL, ...chat, PRICES, LOCAL: 'true' });
	};
	const ask = (url: string, budget: object) => {
		upstream.play((exchange) => exchange.json(200, chatCompletions.body({ text: 'Yes.', stop: 'end_turn' })));
		return fetch(`${url}/v1/sessions`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ agent: 'assistant', text: 'Really?', budget }),
		});
	};

	test('reports the same cost of a run in the response and in the session', async () => {
		const { url, close } = await start('llama');
		const response = await ask(url, { usd: 1_000_000 });
		const usd = (usualUsage.input * 3_000) / 1e6;
		const spent = { budget: { spent: { usd } } };
		expect(await response.json()).toMatchObject({ status: 'completed', usage: { costUsd: usd }, ...spent });
		const session = await fetch(`${url}${response.headers.get('location')}`);
		expect(await session.json()).toMatchObject(spent);
		await close();
	});

	test('names CHAT_API_KEY in the error if the endpoint refuses the key', async () => {
		const { url, close } = await start('llama');
		upstream.play((exchange) => exchange.json(401, { error: { message: 'No.', type: 'authentication_error' } }));
		const response = await fetch(`${url}/v1/sessions`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ agent: 'assistant', text: 'Really?' }),
		});
		expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('Check CHAT_API_KEY.')]);
		await close();
	});

	test('if the budget is in dollars, refuses a model without a price, and names the model', async () => {
		const { url, close } = await start('qwen');
		const response = await ask(url, { usd: 1 });
		expect(response.status).toBe(402);
		expect(await response.text()).toMatch(/nobody knows the price of .*qwen/);
		expect(upstream.requests).toHaveLength(0);
		await close();
	});
});

describe('npm run example', () => {
	const names = readdirSync(join(root, 'examples'))
		.filter((file) => file.endsWith('.ts') && file !== 'show.ts')
		.map((file) => file.replace(/\.ts$/, ''));
	const keys = /_API_KEY$|_BASE_URL$|^CLOUDFLARE_|^MODEL$|^EMBEDDING_MODEL$/;
	const keyless = Object.fromEntries(Object.entries(process.env).filter(([name]) => !keys.test(name)));
	const example = (name: string, env: Record<string, string> = {}) =>
		promisify(execFile)(process.execPath, ['scripts/example.ts', name], { cwd: root, env: { ...keyless, ...env } });

	const variables: Readonly<Record<string, string>> = {
		compatible: 'OPENROUTER_API_KEY',
		'workers-ai': 'CLOUDFLARE_API_TOKEN',
	};

	test.each(names.filter((name) => name !== 'retrieval' && name !== 'ollama'))(
		'%s names the variable of a missing key',
		async (name) => {
			const variable = variables[name] ?? `${name.toUpperCase()}_API_KEY`;
			await expect(example(name)).rejects.toMatchObject({
				code: 1,
				stderr: expect.stringMatching(new RegExp(`set .*${variable}`)),
			});
		},
	);

	test('ollama reports that no server answers', async () => {
		const missing = example('ollama', { OLLAMA_BASE_URL: await deadUrl() });
		await expect(missing).rejects.toMatchObject({
			code: 1,
			stderr: expect.stringMatching(/connection failed .*Check the base URL/),
		});
	});

	test('anthropic asks the model, runs the tool, and prints the answer and its price', async () => {
		upstream.play(
			async (exchange) => {
				const add = { id: 'toolu_1', name: 'add', argumentsJson: '{"x":17,"y":25}' };
				await exchange.write(anthropic.events({ calls: [add], stop: 'tool_use' }).join(''));
				exchange.end();
			},
			async (exchange) => {
				await exchange.write(anthropic.events({ text: 'It is 42.', stop: 'end_turn' }).join(''));
				exchange.end();
			},
		);
		const { stdout } = await example('anthropic', { ANTHROPIC_API_KEY: secretKey, ANTHROPIC_BASE_URL: upstream.url });
		expect(stdout).toMatch(/\[add\] It is 42\.\n\n\d+ tokens in, \d+ out, \$0\.\d+\n/);
	});

	test('retrieval runs offline and answers from the right document', async () => {
		const { stdout } = await example('retrieval');
		expect(stdout.split('\n')[0]).toMatch(/Shipping/);
	});
});
