import { ChatOpenAI } from '@langchain/openai';
import { createOpenAICompatible as compatible5 } from 'ai-compatible5';
import { createOpenAICompatible as compatible6 } from 'ai-compatible6';
import { createOpenAICompatible as compatible7 } from 'ai-compatible7';
import { generateText as generateText5, Output as Output5, streamText as streamText5 } from 'ai5';
import { generateText as generateText6, Output as Output6, streamText as streamText6 } from 'ai6';
import { generateText as generateText7, Output as Output7, streamText as streamText7 } from 'ai7';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { call, type Stage, startStage, text } from './ui/stage.ts';

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());

const model = 'desk';
const apiKey = 'none';
const settings = () => ({ name: 'runlet', apiKey, baseURL: `${stage.url}/v1` });
const prompt = 'Go';
/** Prevents the AI SDK from printing errors. The stream contains these errors, too. */
const onError = () => {};

/** Published clients that retry requests by themselves. */
const clients: readonly (readonly [name: string, ask: () => Promise<unknown>])[] = [
	['ai 5', () => generateText5({ model: compatible5(settings()).chatModel(model), prompt })],
	['ai 6', () => generateText6({ model: compatible6(settings()).chatModel(model), prompt })],
	['ai 7', () => generateText7({ model: compatible7(settings()).chatModel(model), prompt })],
	['LangChain', () => new ChatOpenAI({ model, apiKey, configuration: settings() }).invoke(prompt)],
	[
		'openai',
		() => new OpenAI(settings()).chat.completions.create({ model, messages: [{ role: 'user', content: prompt }] }),
	],
];

/** The same clients, streaming. */
const streaming: typeof clients = [
	['ai 5', () => drained(streamText5({ model: compatible5(settings()).chatModel(model), prompt, onError }).fullStream)],
	['ai 6', () => drained(streamText6({ model: compatible6(settings()).chatModel(model), prompt, onError }).fullStream)],
	['ai 7', () => drained(streamText7({ model: compatible7(settings()).chatModel(model), prompt, onError }).fullStream)],
	['LangChain', async () => drained(await new ChatOpenAI({ model, apiKey, configuration: settings() }).stream(prompt))],
	[
		'openai',
		async () =>
			drained(
				await new OpenAI(settings()).chat.completions.create({
					model,
					messages: [{ role: 'user', content: prompt }],
					stream: true,
				}),
			),
	],
];

/** Reads a stream to its end. Throws the error of the stream, which is a part of the stream in the AI SDK. */
async function drained(stream: AsyncIterable<unknown>): Promise<void> {
	for await (const part of stream) {
		const { type, error } = Object(part);
		if (type === 'error') throw new Error(JSON.stringify(error) ?? String(error), { cause: error });
	}
}

/** The ids of all sessions of the desk that wait for an approval. */
async function waiting(): Promise<string[]> {
	const { sessions } = await (await fetch(`${stage.url}/v1/sessions?limit=100`)).json();
	const states = sessions.map(async ({ id }: { id: string }) => (await fetch(`${stage.url}/v1/sessions/${id}`)).json());
	return (await Promise.all(states)).filter(({ status }) => status === 'awaiting_tools').map(({ id }) => id);
}

const failing = [[call('a', 'add', { x: 1, y: 2 })], [{ type: 'fail', message: 'broken' } as const]];
const paying = [[call('p', 'pay', { amount: 3 })]];

describe.each([
	['whole', clients],
	['streamed', streaming],
])('with %s answers', (_, list) => {
	test.each(list)('%s gets the answer', async (_name, ask) => {
		const sent = stage.play([call('a', 'add', { x: 1, y: 2 })], [text('It is 3.')]);
		await ask();
		expect(sent).toHaveLength(2);
	});

	test.each(list)('%s does not repeat a request whose run failed after a tool call', async (_name, ask) => {
		const sent = stage.play(...failing, ...failing, ...failing);
		await expect(ask()).rejects.toThrow();
		expect(sent).toHaveLength(2);
	});

	test.each(list)('%s does not repeat a request whose run waits for an approval', async (_name, ask) => {
		const before = await waiting();
		const sent = stage.play(...paying, ...paying, ...paying);
		await expect(ask()).rejects.toThrow();
		expect(sent).toHaveLength(1);
		await expect.poll(async () => (await waiting()).length).toBe(before.length + 1);
	});
});

describe('a structured answer', () => {
	const city = z.object({ city: z.string(), people: z.number() });
	const oslo = { city: 'Oslo', people: 700_000 };
	const turns = [[call('a', 'add', { x: 1, y: 2 })], [text('Oslo!')], [text(JSON.stringify(oslo))]];
	const about = { prompt, onError };

	test('is parsed by openai', async () => {
		stage.play(...turns);
		const { choices } = await new OpenAI(settings()).chat.completions.parse({
			model,
			messages: [{ role: 'user', content: prompt }],
			response_format: zodResponseFormat(city, 'city'),
		});
		expect(choices[0]?.message.parsed).toEqual(oslo);
	});

	test.each(['jsonSchema', 'jsonMode'] as const)('is parsed by LangChain with the method %s', async (method) => {
		stage.play(...turns);
		const chat = new ChatOpenAI({ model, apiKey, configuration: settings() });
		expect(await chat.withStructuredOutput(city, { method }).invoke(prompt)).toEqual(oslo);
	});

	test('is parsed by LangChain with a tool call', async () => {
		stage.play([call('a', 'extract', oslo)]);
		const chat = new ChatOpenAI({ model, apiKey, configuration: settings() });
		const structured = chat.withStructuredOutput(city, { method: 'functionCalling', name: 'extract' });
		expect(await structured.invoke(prompt)).toEqual(oslo);
	});

	test('is parsed by the AI SDK, whether or not the request contains the schema', async () => {
		for (const supportsStructuredOutputs of [true, false]) {
			const provider = { ...settings(), supportsStructuredOutputs };
			stage.play(...turns);
			const five = generateText5({
				model: compatible5(provider).chatModel(model),
				experimental_output: Output5.object({ schema: city }),
				prompt,
			});
			expect((await five).experimental_output).toEqual(oslo);
			stage.play(...turns);
			const output6 = Output6.object({ schema: city });
			const six = await generateText6({ model: compatible6(provider).chatModel(model), output: output6, prompt });
			expect(six.output).toEqual(oslo);
			stage.play(...turns);
			const output7 = Output7.object({ schema: city });
			const seven = streamText7({ model: compatible7(provider).chatModel(model), output: output7, ...about });
			expect(await seven.output).toEqual(oslo);
		}
	});
});

test('a request that openai repeats after a timeout joins the first run', async () => {
	const tries = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	let count = 0;
	const client = new OpenAI({
		...settings(),
		timeout: 1_000,
		fetch: (url, init) => {
			tries[count++]?.resolve();
			return fetch(url, init);
		},
	});
	const sent = stage.play(async (turn) => {
		await tries[1]?.promise;
		turn.say(text('Once.'));
	});
	const { choices } = await client.chat.completions.create({ model, messages: [{ role: 'user', content: prompt }] });
	expect(choices[0]?.message.content).toBe('Once.');
	expect(count).toBeGreaterThan(1);
	expect(sent).toHaveLength(1);
});
