import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIResponsesModel, run } from '@openai/agents';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agUi } from './clients/ag-ui.ts';
import { aiSdk } from './clients/ai-sdk.ts';
import { anthropic } from './clients/anthropic.ts';
import { type Client, city, listWays } from './clients/client.ts';
import { langchain } from './clients/langchain.ts';
import { columns, findStep } from './clients/matrix.ts';
import { openai } from './clients/openai.ts';
import { page, writePage } from './clients/table.ts';
import { useChat } from './clients/use-chat.ts';
import { call, reasoning, type Sent, type Stage, startStage, text } from './ui/stage.ts';

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());

const model = 'desk';
const settings = () => ({ apiKey: 'none', baseURL: `${stage.url}/v1` });

const clients: readonly Client[] = [...openai, ...anthropic, ...langchain, ...aiSdk, ...agUi, ...useChat];

describe.each(clients)('$packages.0 over $wire', (client) => {
	describe.each(listWays(client))('%s', (way) => {
		for (const column of Object.keys(columns)) {
			const { text, run } = findStep(client, way, column);
			test(`${column}: ${text}`, () => run({ stage, client, way }));
		}
	});
});

// To write the page anew: npx vitest run -u --project e2e test/e2e/clients.test.ts -t matrix
test('docs/clients.md has the matrix of these tests', async () => {
	await expect(await writePage(clients)).toMatchFileSnapshot(page);
});

test.each(['jsonMode', 'functionCalling'] as const)('LangChain parses an answer with the method %s', async (method) => {
	const oslo = { city: 'Oslo', people: 700_000 };
	const turns =
		method === 'jsonMode' ? [[text('Oslo!')], [text(JSON.stringify(oslo))]] : [[call('a', 'extract', oslo)]];
	stage.play(...turns);
	const chat = new ChatOpenAI({ model, apiKey: 'none', configuration: settings() });
	expect(await chat.withStructuredOutput(city, { method, name: 'extract' }).invoke('Go')).toEqual(oslo);
});

test('the package openai takes up a stream by its helper, from the stored run', async () => {
	stage.play([reasoning('Hm.'), text('Hello.'), call('a', 'add', { x: 1, y: 2 })], [text('It is 3.')]);
	const { responses } = new OpenAI(settings());
	const { id } = await responses.create({ model, input: 'Go' });
	const again = await responses.stream({ response_id: id, starting_after: 9 }).finalResponse();
	expect(again.output_text).toBe('Hello.It is 3.');
});

test('the package openai asks over a WebSocket, and goes on after a response that is not stored', async () => {
	const sent = stage.play([text('One.')], [text('Two.')]);
	const socket = new ResponsesWS(new OpenAI(settings()));
	const ask = async (more: object): Promise<OpenAI.Responses.Response> => {
		socket.send({ type: 'response.create', model, input: 'Go', store: false, ...more });
		return (await socket.emitted('response.completed')).response;
	};
	const first = await ask({});
	expect((await ask({ previous_response_id: first.id })).output).toMatchObject([{ content: [{ text: 'Two.' }] }]);
	expect(sent[1]?.map(({ content }) => content)).toEqual(['Go', 'One.', 'Go']);
	socket.close();
});

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
