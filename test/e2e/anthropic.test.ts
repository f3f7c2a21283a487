import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { createAnthropic as anthropic5 } from 'ai-anthropic5';
import { createAnthropic as anthropic6 } from 'ai-anthropic6';
import { createAnthropic as anthropic7 } from 'ai-anthropic7';
import {
	generateText as generateText5,
	stepCountIs as stepCountIs5,
	streamText as streamText5,
	tool as tool5,
} from 'ai5';
import {
	generateText as generateText6,
	stepCountIs as stepCountIs6,
	streamText as streamText6,
	tool as tool6,
} from 'ai6';
import {
	generateText as generateText7,
	stepCountIs as stepCountIs7,
	streamText as streamText7,
	tool as tool7,
} from 'ai7';
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
const prompt = 'Go';
/** Prevents the AI SDK from printing errors. The stream contains these errors, too. */
const onError = () => {};

interface Terms {
	readonly headers?: Record<string, string>;
	/** Whether the client has the tool `weather`. */
	readonly hasTool?: boolean;
	readonly signal?: AbortSignal;
}

/** Sends a message and runs the calls of the client's tool. Returns the text of the last answer. */
type Ask = (terms?: Terms) => Promise<string>;

const schema = z.object({ at: z.string() });
const weather = {
	name: 'weather',
	description: 'The weather.',
	input_schema: { type: 'object' as const, properties: { at: { type: 'string' } }, required: ['at'] },
};
const look = ({ at }: { readonly at: string }) => `rain in ${at}`;

const createClient = (headers = {}) => new Anthropic({ apiKey, baseURL: stage.url, defaultHeaders: headers });

function askPackage(stream: boolean): Ask {
	return async ({ headers, hasTool, signal } = {}) => {
		const { messages, beta } = createClient(headers);
		const about = { model, max_tokens: 1_024, messages: [{ role: 'user' as const, content: prompt }] };
		const read = (content: readonly { readonly type: string; readonly text?: string }[]) =>
			content.map((block) => block.text ?? '').join('');
		if (hasTool) {
			const tools = [{ ...weather, run: look, parse: (given: unknown) => schema.parse(given) }];
			const runner = stream
				? beta.messages.toolRunner({ ...about, tools, stream })
				: beta.messages.toolRunner({ ...about, tools });
			return read((await runner.runUntilDone()).content);
		}
		if (!stream) return read((await messages.create(about, { signal })).content);
		return read((await messages.stream(about, { signal }).finalMessage()).content);
	};
}

function askLangChain(stream: boolean): Ask {
	return async ({ headers, hasTool, signal } = {}) => {
		const clientOptions = { defaultHeaders: headers };
		const chat = new ChatAnthropic({ model, apiKey, anthropicApiUrl: stage.url, maxTokens: 1_024, clientOptions });
		const bound = hasTool ? chat.bindTools([weather]) : chat;
		const send = async (messages: (HumanMessage | ToolMessage | Awaited<ReturnType<typeof bound.invoke>>)[]) => {
			if (!stream) return bound.invoke(messages, { signal });
			const pieces = await Array.fromAsync(await bound.stream(messages, { signal }));
			return pieces.reduce((whole, piece) => whole.concat(piece));
		};
		const asked = new HumanMessage(prompt);
		const first = await send([asked]);
		if (!hasTool) return first.text;
		const results = (first.tool_calls ?? []).map(
			({ id = '', args }) => new ToolMessage({ tool_call_id: id, content: look(schema.parse(args)) }),
		);
		return (await send([asked, first, ...results])).text;
	};
}

const settings = (headers?: Record<string, string>) => ({ apiKey, baseURL: `${stage.url}/v1`, headers });

/** Reads a stream of the AI SDK to its end. Throws the error, which is a part of the stream. */
async function drain(stream: AsyncIterable<unknown>): Promise<string> {
	let said = '';
	for await (const part of stream) {
		const { type, error, text: more = '' } = Object(part);
		if (type === 'error') throw new Error(JSON.stringify(error) ?? String(error), { cause: error });
		if (type === 'abort') throw new Error('aborted');
		if (type === 'start-step') said = '';
		if (type === 'text-delta') said += more;
	}
	return said;
}

const ask5 =
	(stream: boolean): Ask =>
	async ({ headers, hasTool, signal: abortSignal } = {}) => {
		const tools = hasTool
			? { weather: tool5({ inputSchema: schema, execute: async (input) => look(input) }) }
			: undefined;
		const about = {
			model: anthropic5(settings(headers))(model),
			prompt,
			tools,
			abortSignal,
			stopWhen: stepCountIs5(3),
		};
		return stream ? drain(streamText5({ ...about, onError }).fullStream) : (await generateText5(about)).text;
	};
const ask6 =
	(stream: boolean): Ask =>
	async ({ headers, hasTool, signal: abortSignal } = {}) => {
		const tools = hasTool
			? { weather: tool6({ inputSchema: schema, execute: async (input) => look(input) }) }
			: undefined;
		const about = {
			model: anthropic6(settings(headers))(model),
			prompt,
			tools,
			abortSignal,
			stopWhen: stepCountIs6(3),
		};
		return stream ? drain(streamText6({ ...about, onError }).fullStream) : (await generateText6(about)).text;
	};
const ask7 =
	(stream: boolean): Ask =>
	async ({ headers, hasTool, signal: abortSignal } = {}) => {
		const tools = hasTool
			? { weather: tool7({ inputSchema: schema, execute: async (input) => look(input) }) }
			: undefined;
		const about = {
			model: anthropic7(settings(headers))(model),
			prompt,
			tools,
			abortSignal,
			stopWhen: stepCountIs7(3),
		};
		return stream ? drain(streamText7({ ...about, onError }).fullStream) : (await generateText7(about)).text;
	};

const clients = (stream: boolean): readonly (readonly [name: string, ask: Ask])[] => [
	['@anthropic-ai/sdk', askPackage(stream)],
	['LangChain', askLangChain(stream)],
	['ai 5', ask5(stream)],
	['ai 6', ask6(stream)],
	['ai 7', ask7(stream)],
];

const post = (path: string, body: object) =>
	fetch(`${stage.url}${path}`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify(body),
	});

/** Creates a session, and returns the header that names it. */
async function createSession(
	more: object = {},
): Promise<{ readonly id: string; readonly headers: Record<string, string> }> {
	const { id } = await (await post('/v1/sessions', { agent: model, ...more })).json();
	return { id, headers: { 'Runlet-Session': id } };
}

const readState = async (id: string) => (await fetch(`${stage.url}/v1/sessions/${id}`)).json();

describe.each([
	['whole', clients(false)],
	['streamed', clients(true)],
])('with %s answers', (_, list) => {
	test.each(list)('%s gets the answer of an agent that calls its own tools', async (_name, ask) => {
		const sent = stage.play([text('Wait.'), call('a', 'add', { x: 1, y: 2 })], [text('It is 3.')]);
		expect(await ask()).toBe('Wait.\n\nIt is 3.');
		expect(sent).toHaveLength(2);
	});

	test.each(list)('%s runs the calls of its own tools', async (_name, ask) => {
		const sent = stage.play([text('Let me see.'), call('w', 'weather', { at: 'Oslo' })], [text('It rains.')]);
		expect(await ask({ hasTool: true })).toBe('It rains.');
		expect(sent[1]).toMatchObject([{ content: prompt }, { content: 'Let me see.' }, { role: 'tool' }]);
		expect(JSON.stringify(sent[1])).toContain('rain in Oslo');
	});

	test.each(list)('%s gets a question as text, and its next message answers it', async (_name, ask) => {
		const { headers } = await createSession();
		const sent = stage.play([call('q', 'ask', { question: 'Which one?' })], [text('Booked.')]);
		expect(await ask({ headers })).toBe('Which one?');
		expect(await ask({ headers })).toBe('Booked.');
		expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool', content: prompt });
	});

	test.each(list)('%s does not repeat a request whose run waits for an approval', async (_name, ask) => {
		const { id, headers } = await createSession();
		const sent = stage.play([call('p', 'pay', { amount: 3 })], [text('Paid.')]);
		await expect(ask({ headers })).rejects.toThrow(/approve/);
		expect(sent).toHaveLength(1);
		expect(await readState(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'p' }] });
	});

	test.each(list)('%s does not repeat a request whose run failed after a tool call', async (_name, ask) => {
		const failing = [[call('a', 'add', { x: 1, y: 2 })], [{ type: 'fail', message: 'broken' } as const]];
		const sent = stage.play(...failing, ...failing, ...failing);
		await expect(ask()).rejects.toThrow();
		expect(sent).toHaveLength(2);
	});

	test.each(list)('%s gets the error of a used-up budget, and begins no turn', async (_name, ask) => {
		const { headers } = await createSession({ budget: { tokens: 1 } });
		const sent = stage.play([text('never')]);
		await expect(ask({ headers })).rejects.toThrow(/budget/);
		expect(sent).toHaveLength(0);
	});

	test.each(list)('%s can leave, and the run continues', async (_name, ask) => {
		const { id, headers } = await createSession();
		const left = new AbortController();
		stage.play(async (turn) => {
			turn.say(text('Long '));
			left.abort();
			await expect.poll(async () => (await readState(id)).status).toBe('running');
			turn.say(text('ago.'));
		});
		await expect(ask({ headers, signal: left.signal })).rejects.toThrow();
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		const { messages } = await (await fetch(`${stage.url}/v1/sessions/${id}/messages`)).json();
		expect(messages.at(-1)).toMatchObject({ content: 'Long ago.' });
	});
});

test('the package counts tokens, and its retry after a timeout joins the first run', async () => {
	const { input_tokens } = await createClient().messages.countTokens({
		model,
		messages: [{ role: 'user', content: prompt }],
	});
	expect(input_tokens).toBeGreaterThan(0);
	const tries = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	let count = 0;
	const client = new Anthropic({
		...{ apiKey, baseURL: stage.url, timeout: 1_000 },
		fetch: (url, init) => {
			tries[count++]?.resolve();
			return fetch(url, init);
		},
	});
	const sent = stage.play(async (turn) => {
		await tries[1]?.promise;
		turn.say(text('Once.'));
	});
	const message = await client.messages.create({ model, max_tokens: 9, messages: [{ role: 'user', content: prompt }] });
	expect(message.content).toMatchObject([{ text: 'Once.' }]);
	expect(count).toBeGreaterThan(1);
	expect(sent).toHaveLength(1);
});
