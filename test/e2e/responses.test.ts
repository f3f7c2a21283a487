import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, tool as agentsTool, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import { createOpenAI as createOpenAI5 } from 'ai-openai5';
import { createOpenAI as createOpenAI6 } from 'ai-openai6';
import { createOpenAI as createOpenAI7 } from 'ai-openai7';
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
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import OpenAI5 from 'openai5';
import OpenAI6 from 'openai6';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { call, reasoning, type Sent, type Stage, startStage, text } from './ui/stage.ts';

setTracingDisabled(true);

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());

const model = 'desk';
const settings = () => ({ apiKey: 'none', baseURL: `${stage.url}/v1` });
/** Prevents the AI SDK from printing errors. The stream contains these errors, too. */
const onError = () => {};

const weather = { at: z.string() };
const report = async () => 'rain';

/** What a client can do. Each function returns the text of the answer. */
interface Client {
	/** Asks once. */
	ask(): Promise<string>;
	/** Asks, and runs the tool `weather` of the client until there is an answer. */
	useTool(): Promise<string>;
}

const openai = (client: OpenAI): Client => {
	const ask = async (body: object): Promise<OpenAI.Responses.Response> =>
		client.responses.create({ model, input: 'Go', ...body, stream: false });
	return { ask: async () => toText(await ask({})), useTool: () => runTool(ask) };
};

const openaiStream = (client: OpenAI): Client => {
	const ask = (body: object) => client.responses.stream({ model, input: 'Go', ...body }).finalResponse();
	return { ask: async () => toText(await ask({})), useTool: () => runTool(ask) };
};

/** Returns the text of a response. The older packages do not add it to a streamed response. */
function toText({ output }: OpenAI.Responses.Response): string {
	const contents = output.flatMap((item) => (item.type === 'message' ? item.content : []));
	return contents.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}

async function runTool(ask: (body: object) => Promise<OpenAI.Responses.Response>): Promise<string> {
	const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
	const tools = [{ type: 'function', name: 'weather', parameters, strict: false }];
	const first = await ask({ tools });
	const outputs = first.output.flatMap((item) =>
		item.type === 'function_call' ? [{ type: 'function_call_output', call_id: item.call_id, output: 'rain' }] : [],
	);
	return toText(await ask({ tools, input: outputs, previous_response_id: first.id }));
}

const agents = (stream: boolean): Client => {
	const ask = async (tools: readonly ReturnType<typeof weatherTool>[]) => {
		const agent = new Agent({
			name: 'desk',
			model: new OpenAIResponsesModel(new OpenAI(settings()), model),
			tools: [...tools],
		});
		if (!stream) return (await run(agent, 'Go')).finalOutput ?? '';
		const streamed = await run(agent, 'Go', { stream: true });
		for await (const _ of streamed);
		if (streamed.error) throw streamed.error;
		return streamed.finalOutput ?? '';
	};
	return { ask: () => ask([]), useTool: () => ask([weatherTool()]) };
};

function weatherTool() {
	return agentsTool({ name: 'weather', description: 'The weather.', parameters: z.object(weather), execute: report });
}

const langchain = (stream: boolean): Client => {
	const chat = () => new ChatOpenAI({ model, apiKey: 'none', configuration: settings(), useResponsesApi: true });
	const ask = async (
		one: { stream: ReturnType<typeof chat>['stream']; invoke: ReturnType<typeof chat>['invoke'] },
		input: Parameters<ReturnType<typeof chat>['invoke']>[0],
	) => {
		if (!stream) return one.invoke(input);
		let whole: Awaited<ReturnType<typeof one.invoke>> | undefined;
		for await (const chunk of await one.stream(input)) whole = whole === undefined ? chunk : whole.concat(chunk);
		if (whole === undefined) throw new Error('no chunk');
		return whole;
	};
	return {
		ask: async () => (await ask(chat(), 'Go')).text,
		useTool: async () => {
			const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
			const one = chat().bindTools([{ type: 'function', function: { name: 'weather', parameters } }]);
			const asked = new HumanMessage('Go');
			const first = await one.invoke([asked]);
			const outputs = (first.tool_calls ?? []).map(({ id = '' }) => ({
				role: 'tool',
				tool_call_id: id,
				content: 'rain',
			}));
			return (await one.invoke([asked, first, ...outputs])).text;
		},
	};
};

const steps = 4;
const inputSchema = z.object(weather);
const ai5 = (stream: boolean): Client => {
	const ask = async (more: object) => {
		const about = { model: createOpenAI5(settings()).responses(model), prompt: 'Go', onError, ...more };
		return stream ? readText(streamText5(about).fullStream) : (await generateText5(about)).text;
	};
	const tools = { weather: tool5({ inputSchema, execute: report }) };
	return { ask: () => ask({}), useTool: () => ask({ tools, stopWhen: stepCountIs5(steps) }) };
};
const ai6 = (stream: boolean): Client => {
	const ask = async (more: object) => {
		const about = { model: createOpenAI6(settings()).responses(model), prompt: 'Go', onError, ...more };
		return stream ? readText(streamText6(about).fullStream) : (await generateText6(about)).text;
	};
	const tools = { weather: tool6({ inputSchema, execute: report }) };
	return { ask: () => ask({}), useTool: () => ask({ tools, stopWhen: stepCountIs6(steps) }) };
};
const ai7 = (stream: boolean): Client => {
	const ask = async (more: object) => {
		const about = { model: createOpenAI7(settings()).responses(model), prompt: 'Go', onError, ...more };
		return stream ? readText(streamText7(about).fullStream) : (await generateText7(about)).text;
	};
	const tools = { weather: tool7({ inputSchema, execute: report }) };
	return { ask: () => ask({}), useTool: () => ask({ tools, stopWhen: stepCountIs7(steps) }) };
};

/** Reads the text of a stream of the AI SDK. Throws the error of the stream, which is a part of it. */
async function readText(stream: AsyncIterable<unknown>): Promise<string> {
	let said = '';
	for await (const part of stream) {
		const { type, text, error } = Object(part);
		if (type === 'start-step') said = '';
		if (type === 'text-delta') said += text;
		if (type === 'error') throw new Error(JSON.stringify(error) ?? String(error), { cause: error });
	}
	return said;
}

const clients: readonly (readonly [name: string, client: () => Client])[] = [
	['openai 5', () => openai(cast(new OpenAI5(settings())))],
	['openai 6', () => openai(cast(new OpenAI6(settings())))],
	['openai 7', () => openai(new OpenAI(settings()))],
	['@openai/agents', () => agents(false)],
	['@langchain/openai', () => langchain(false)],
	['ai 5', () => ai5(false)],
	['ai 6', () => ai6(false)],
	['ai 7', () => ai7(false)],
];

const streaming: typeof clients = [
	['openai 5', () => openaiStream(cast(new OpenAI5(settings())))],
	['openai 6', () => openaiStream(cast(new OpenAI6(settings())))],
	['openai 7', () => openaiStream(new OpenAI(settings()))],
	['@openai/agents', () => agents(true)],
	['@langchain/openai', () => langchain(true)],
	['ai 5', () => ai5(true)],
	['ai 6', () => ai6(true)],
	['ai 7', () => ai7(true)],
];

/** The older packages have the same methods, but other types. */
function cast(client: unknown): OpenAI {
	// SAFETY: the tests call only methods that all versions have.
	return client as OpenAI;
}

const failing = [[call('a', 'add', { x: 1, y: 2 })], [{ type: 'fail', message: 'broken' } as const]];

describe.each([
	['whole', clients],
	['streamed', streaming],
])('with %s answers', (how, list) => {
	test.each(list)('%s gets the answer of an agent that thinks and calls its own tools', async (name, client) => {
		const turns = [
			[reasoning('Hm.'), call('a', 'add', { x: 1, y: 2 })],
			[reasoning('So.'), text('It is 3.')],
		];
		// AI SDK 5 reads no calls of a server’s tools, except in a stream.
		const sent = stage.play(...(how === 'whole' && name === 'ai 5' ? turns.slice(1) : turns));
		expect(await client().ask()).toBe('It is 3.');
		expect(sent.length).toBeGreaterThan(0);
	});

	test.each(list)('%s runs its own tool', async (_, client) => {
		const sent = stage.play([text('Let me look.'), call('w', 'weather', { at: 'Oslo' })], [text('Rain.')]);
		expect(await client().useTool()).toContain('Rain.');
		expect(sent).toHaveLength(2);
		expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool', content: 'rain' });
	});

	test.each(list)('%s does not repeat a request whose run failed after a tool call', async (name, client) => {
		const sent = stage.play(...failing, ...failing, ...failing);
		const asked = client().ask();
		// These clients return the failed response of a stream, whose status says so.
		if (how === 'streamed' && /^openai|langchain|^ai 5/.test(name)) await asked;
		else await expect(asked).rejects.toThrow();
		expect(sent).toHaveLength(2);
	});

	test.each(list)('%s gets the question of a tool as the answer', async (_, client) => {
		stage.play([call('q', 'ask', { question: 'Which?' })]);
		expect(await client().ask()).toBe('Which?');
	});
});

describe('approvals', () => {
	test.each([
		['openai 5', () => cast(new OpenAI5(settings()))],
		['openai 6', () => cast(new OpenAI6(settings()))],
		['openai 7', () => new OpenAI(settings())],
	])('%s decides about a call', async (_, open) => {
		const { responses } = open();
		stage.play([call('p', 'pay', { amount: 3 })], [text('Paid.')]);
		const first = await responses.create({ model, input: 'Go' });
		const [asked] = first.output;
		if (asked?.type !== 'mcp_approval_request') throw new Error('no request');
		const decision = { type: 'mcp_approval_response' as const, approval_request_id: asked.id, approve: true };
		const stream = responses.stream({ model, input: [decision], previous_response_id: first.id });
		expect(toText(await stream.finalResponse())).toBe('Paid.');
	});

	test.each([
		[
			'ai 6',
			async (messages: never[]) => generateText6({ model: createOpenAI6(settings()).responses(model), messages }),
		],
		[
			'ai 7',
			async (messages: never[]) => generateText7({ model: createOpenAI7(settings()).responses(model), messages }),
		],
	])('%s decides about a call', async (_, ask) => {
		stage.play([call('p', 'pay', { amount: 3 })], [text('Paid.')]);
		const asked: object[] = [{ role: 'user', content: 'Go' }];
		// SAFETY: the two versions have the same messages under different types.
		const first = await ask(asked as never[]);
		const request = first.content.find(({ type }) => type === 'tool-approval-request');
		const approvalId: unknown = Reflect.get(Object(request), 'approvalId');
		const decision = { type: 'tool-approval-response', approvalId, approved: true };
		const messages = [...asked, ...first.response.messages, { role: 'tool', content: [decision] }];
		expect((await ask(messages as never[])).text).toBe('Paid.');
	});
});

describe('the package openai', () => {
	const client = () => new OpenAI(settings()).responses;

	test('parses a structured answer', async () => {
		const city = z.object({ city: z.string(), people: z.number() });
		const oslo = { city: 'Oslo', people: 700_000 };
		stage.play([text('Let me see.'), call('a', 'add', { x: 1, y: 2 })], [text('Oslo!')], [text(JSON.stringify(oslo))]);
		const body = { model, input: 'Go', text: { format: zodTextFormat(city, 'city') } };
		expect((await client().parse(body)).output_parsed).toEqual(oslo);
		stage.play([text(JSON.stringify(oslo))]);
		expect((await client().stream(body).finalResponse()).output_parsed).toEqual(oslo);
	});

	test('runs in the background, goes on behind a number, and cancels', async () => {
		const going = Promise.withResolvers<void>();
		stage.play(async (turn) => {
			turn.say(text('Hello '));
			await going.promise;
			turn.say(text('there.'));
		});
		const { id, status } = await client().create({ model, input: 'Go', background: true });
		expect(status).toBe('in_progress');
		let said = '';
		let last = 0;
		for await (const event of await client().retrieve(id, { stream: true })) {
			last = event.sequence_number;
			if (event.type === 'response.output_text.delta') said += event.delta;
			if (said !== '') break;
		}
		going.resolve();
		for await (const event of await client().retrieve(id, { stream: true, starting_after: last }))
			if (event.type === 'response.output_text.delta') said += event.delta;
		expect(said).toBe('Hello there.');
		stage.play(async (turn) => {
			turn.say(text('Hello '));
			await turn.left;
		});
		const other = await client().create({ model, input: 'Go', background: true });
		expect((await client().cancel(other.id)).status).toBe('cancelled');
		await client().delete(other.id);
	});

	test('takes up a stream by its helper, from the stored run', async () => {
		stage.play([reasoning('Hm.'), text('Hello.'), call('a', 'add', { x: 1, y: 2 })], [text('It is 3.')]);
		const { id } = await client().create({ model, input: 'Go' });
		const again = await client().stream({ response_id: id, starting_after: 9 }).finalResponse();
		expect(again.output_text).toBe('Hello.It is 3.');
	});
});

describe('conversations', () => {
	test('@openai/agents goes on in a conversation and after a response', async () => {
		const open = new OpenAI(settings());
		const agent = new Agent({ name: 'desk', model: new OpenAIResponsesModel(open, model) });
		const { id: conversationId } = await open.conversations.create({});
		const seen = (sent: readonly (readonly Sent[])[]) => sent.at(-1)?.map(({ content }) => content);
		let sent = stage.play([text('One.')], [text('Two.')]);
		await run(agent, 'a', { conversationId });
		await run(agent, 'b', { conversationId });
		expect(seen(sent)).toEqual(['a', 'One.', 'b']);
		sent = stage.play([text('One.')], [text('Two.')], [text('Three.')]);
		const first = await run(agent, 'a');
		await run(agent, 'b', { previousResponseId: first.lastResponseId });
		expect(seen(sent)).toEqual(['a', 'One.', 'b']);
		await run(agent, [...first.history, { role: 'user', content: 'c' }]);
		expect(seen(sent)).toEqual(['a', 'One.', 'c']);
	});
});

describe('a budget', () => {
	test('that is used up ends a run with 402, which no client repeats', async () => {
		const poor = await startStage({ LOCAL: 'true', SESSION_BUDGET_TOKENS: '1' });
		try {
			const sent = poor.play([call('a', 'add', { x: 1, y: 2 })], [text('3')], [text('3')]);
			const asked = new OpenAI({ apiKey: 'none', baseURL: `${poor.url}/v1` }).responses.create({ model, input: 'Go' });
			await expect(asked).rejects.toMatchObject({ status: 402 });
			expect(sent.length).toBeLessThan(2);
		} finally {
			await poor.close();
		}
	});
});
