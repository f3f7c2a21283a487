import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, reasoning, type Stage, startStage, text } from './ui/stage.ts';

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());
const settings = () => ({ apiKey: 'none', baseURL: `${stage.url}/v1` });

test('smoke', async () => {
	stage.play([reasoning('hm'), text('Let me see.'), call('a', 'add', { x: 1, y: 2 })], [text('It is 3.')], [text('Again.')]);
	const client = new OpenAI(settings());
	const one = await client.responses.create({ model: 'desk', input: 'Go' });
	console.log(JSON.stringify(one, null, 1));
	const two = await client.responses.create({ model: 'desk', input: 'More', previous_response_id: one.id, stream: true });
	for await (const event of two) console.log(JSON.stringify(event));
	console.log(JSON.stringify(await client.responses.retrieve(one.id)));
	console.log(JSON.stringify(await client.responses.inputItems.list(one.id)));
	for await (const event of await client.responses.retrieve(one.id, { stream: true, starting_after: 12 })) console.log(JSON.stringify(event));
	expect(1).toBe(1);
});
