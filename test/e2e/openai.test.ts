import OpenAI, { APIError, AuthenticationError, NotFoundError } from 'openai';
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction';
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashKey, makeKey } from '../../src/cloudflare/auth/key.ts';
import { startWorker } from '../bundle.ts';
import { anthropic } from '../core/providers/wire/anthropic.ts';
import { type NeutralReply, secretKey } from '../core/providers/wire/dialect.ts';
import { type Script, startServer, type WireServer } from '../core/providers/wire/server.ts';

const model = 'assistant';
const { key, id: keyId } = makeKey();

/** A streamed answer of Anthropic's API. */
const says =
	(reply: NeutralReply): Script =>
	async (exchange) => {
		for (const event of anthropic.events(reply)) await exchange.write(event);
		exchange.end();
	};
const text = (said: string) => says({ text: said, stop: 'end_turn' });
const ask = (content: string): ChatCompletionMessageParam[] => [{ role: 'user', content }];
const weather: ChatCompletionTool = {
	type: 'function',
	function: { name: 'weather', parameters: { type: 'object', properties: { at: { type: 'string' } } } },
};
const callsWeather = says({
	calls: [{ id: 'toolu_1', name: 'weather', argumentsJson: '{"at":"Oslo"}' }],
	stop: 'tool_use',
});

let upstream: WireServer;
let runlet: Awaited<ReturnType<typeof startWorker>>;
let client: OpenAI;
beforeAll(async () => {
	upstream = await startServer();
	const variables = {
		MODEL: anthropic.model,
		ANTHROPIC_API_KEY: secretKey,
		ANTHROPIC_BASE_URL: upstream.url,
		API_KEYS: JSON.stringify([{ id: keyId, hash: await hashKey(key) }]),
	};
	runlet = await startWorker(variables);
	client = new OpenAI({ apiKey: key, baseURL: `${runlet.url}/v1` });
});
afterAll(async () => {
	await runlet?.close();
	await upstream?.close();
});

/** The turns in the last request to the model. */
const heard = () => {
	const { body, path = '' } = upstream.requests.at(-1) ?? {};
	return anthropic.readRequest(body, path).turns;
};

async function thrown(work: Promise<unknown>): Promise<unknown> {
	return work.then(
		() => expect.unreachable('nothing was thrown'),
		(error: unknown) => error,
	);
}

describe('the unchanged openai package', () => {
	test('lists the agents as models', async () => {
		const { data: models } = await client.models.list();
		expect(models.map(({ id }) => id)).toEqual(expect.arrayContaining(['assistant', 'support']));
		expect((await client.models.retrieve(model)).id).toBe(model);
	});

	test('gets an answer with its usage', async () => {
		upstream.play(text('Hello.'));
		const { choices, usage } = await client.chat.completions.create({ model, messages: ask('Hi') });
		expect(choices[0]).toMatchObject({ message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' });
		expect(usage).toMatchObject({ prompt_tokens: 100, completion_tokens: 40, total_tokens: 140 });
		expect(usage?.prompt_tokens_details?.cached_tokens).toBe(25);
	});

	test("streams an answer while the model writes it, after a call of the agent's own tool", async () => {
		const shown = Promise.withResolvers<void>();
		upstream.play(
			says({
				calls: [{ id: 'toolu_1', name: 'calculate', argumentsJson: '{"expression":"17 + 25"}' }],
				stop: 'tool_use',
			}),
			async (exchange) => {
				const events = anthropic.events({ text: 'It is 42, of course.', stop: 'end_turn' });
				const last = events.splice(-anthropic.ending - 1);
				for (const event of events) await exchange.write(event);
				await shown.promise;
				for (const event of last) await exchange.write(event);
				exchange.end();
			},
		);
		const stream = await client.chat.completions.create({
			model,
			messages: ask('What is 17 + 25?'),
			stream: true,
			stream_options: { include_usage: true },
		});
		let said = '';
		let cost: unknown;
		for await (const { choices, usage } of stream) {
			said += choices[0]?.delta.content ?? '';
			// The model continues only when the reader has the start of the answer.
			if (said !== '') shown.resolve();
			cost = usage ?? cost;
		}
		expect(said).toBe('It is 42, of course.');
		expect(cost).toMatchObject({ prompt_tokens: 200, completion_tokens: 80 });
		expect(heard().flatMap(({ parts }) => parts)).toContainEqual(
			expect.objectContaining({ kind: 'result', text: '42' }),
		);
		upstream.check();
	});

	test.each([false, true])('runs tools of the client with runTools, streamed: %s', async (stream) => {
		upstream.play(callsWeather, text('It rains.'));
		const tool: RunnableToolFunctionWithParse<{ at: string }> = {
			type: 'function',
			function: {
				name: 'weather',
				description: 'The weather.',
				parameters: { type: 'object', properties: { at: { type: 'string' } } },
				parse: (given) => JSON.parse(given),
				function: ({ at }) => `rain in ${at}`,
			},
		};
		const params = { model, messages: ask('Weather?'), tools: [tool] };
		const runner = stream
			? client.chat.completions.runTools({ ...params, stream })
			: client.chat.completions.runTools(params);
		expect(await runner.finalContent()).toBe('It rains.');
		const results = heard().flatMap(({ parts }) => parts.filter(({ kind }) => kind === 'result'));
		expect(results).toMatchObject([{ id: 'toolu_1', text: 'rain in Oslo' }]);
	});

	test('sends an image', async () => {
		upstream.play(text('A dot.'));
		await client.chat.completions.create({
			model,
			messages: [
				{
					role: 'user',
					content: [
						{ type: 'text', text: 'What is this?' },
						{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
					],
				},
			],
		});
		expect(heard().at(-1)?.parts).toContainEqual(
			expect.objectContaining({ kind: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' }),
		);
	});

	test('continues the session that a header names, over several requests and after a restart', async () => {
		upstream.play(text('Noted.'), callsWeather, text('Bring it.'));
		const headers = { 'Runlet-Session': 'a walk' };
		const tell = (messages: ChatCompletionMessageParam[]) =>
			client.chat.completions.create({ model, messages, tools: [weather] }, { headers });
		await tell(ask('I have an umbrella.'));
		await runlet.restart();
		const { choices } = await tell(ask('Do I need it in Oslo?'));
		const id = choices[0]?.message.tool_calls?.[0]?.id ?? '';
		const last = await tell([{ role: 'tool', tool_call_id: id, content: 'rain' }]);
		expect(last.choices[0]?.message.content).toBe('Bring it.');
		const said = JSON.stringify(heard());
		for (const words of ['I have an umbrella.', 'Noted.', 'Do I need it in Oslo?', 'rain'])
			expect(said).toContain(words);
	});

	test.each(['stops reading', 'aborts'])('%s, but the run continues', async (way) => {
		const left = Promise.withResolvers<void>();
		upstream.play(async (exchange) => {
			const events = anthropic.events({ text: 'Long ago and far away', stop: 'end_turn' });
			for (const event of events.splice(0, events.length - anthropic.ending - 3)) await exchange.write(event);
			await left.promise;
			for (const event of events) await exchange.write(event);
			exchange.end();
		});
		const controller = new AbortController();
		const { data: stream, response } = await client.chat.completions
			.create({ model, messages: ask('Tell'), stream: true }, { signal: controller.signal })
			.withResponse();
		for await (const { choices } of stream) {
			if (!choices[0]?.delta.content) continue;
			if (way === 'stops reading') break;
			controller.abort();
		}
		const path = `${runlet.url}/v1/sessions/${response.headers.get('runlet-session')}/events`;
		const events = await fetch(path, { headers: { authorization: `Bearer ${key}` } });
		left.resolve();
		expect(await events.text()).toMatch(/event: done\ndata: .*"text":"Long ago and far away"/);
		upstream.check();
	});

	test('throws errors of its own classes, and does not repeat requests that cannot succeed', async () => {
		upstream.play((exchange) =>
			exchange.json(400, { type: 'error', error: { type: 'invalid_request_error', message: 'no' } }),
		);
		const messages = ask('Hi');
		const { completions } = client.chat;
		const stranger = new OpenAI({ apiKey: `${key.slice(0, -2)}xx`, baseURL: client.baseURL });
		expect(await thrown(stranger.chat.completions.create({ model, messages }))).toBeInstanceOf(AuthenticationError);
		expect(await thrown(stranger.models.list().then())).toMatchObject({ status: 401, code: 'invalid_api_key' });
		expect(await thrown(completions.create({ model: 'gpt-5', messages }))).toBeInstanceOf(NotFoundError);
		expect(await thrown(completions.create({ model, messages, n: 2 }))).toMatchObject({ status: 400, param: 'n' });
		expect(upstream.requests).toHaveLength(0);
		expect(await thrown(completions.create({ model, messages }))).toMatchObject({ status: 406 });
		expect(upstream.requests).toHaveLength(1);
		const streamed = async () => {
			for await (const _ of await completions.create({ model, messages, stream: true }));
		};
		const error = await thrown(streamed());
		expect(error).toBeInstanceOf(APIError);
		expect(error).toMatchObject({ code: 'invalid_request', type: 'server_error' });
	});
});
