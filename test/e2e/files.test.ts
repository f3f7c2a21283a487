import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import OpenAI5 from 'openai5';
import OpenAI6 from 'openai6';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Stage, startStage, text } from './ui/stage.ts';

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());

const model = 'desk';
const settings = () => ({ apiKey: 'none', baseURL: `${stage.url}/v1` });

/** The versions of the package, of which each has the same methods. */
const versions: readonly [string, () => OpenAI][] = [
	['openai 5', () => new OpenAI5(settings()) as unknown as OpenAI],
	['openai 6', () => new OpenAI6(settings()) as unknown as OpenAI],
	['openai 7', () => new OpenAI(settings())],
];

describe.each(versions)('the unchanged package %s', (_, create) => {
	test('lists the agents as models with their facts', async () => {
		const models = await Array.fromAsync(create().models.list());
		expect(models).toContainEqual(
			expect.objectContaining({ id: model, context_length: 1_000_000, description: expect.any(String) }),
		);
		expect(await create().models.retrieve(model)).toMatchObject({ id: model, object: 'model' });
	});

	test('uploads, lists, reads, names and deletes a file', async () => {
		const client = create();
		const { files } = client;
		const made = await files.create({
			file: new File(['a,b'], 'table.csv'),
			purpose: 'user_data',
			expires_after: { anchor: 'created_at', seconds: 3_600 },
		});
		expect(made).toMatchObject({ bytes: 3, filename: 'table.csv', expires_at: made.created_at + 3_600 });
		expect(await files.retrieve(made.id)).toEqual(made);
		expect(await Array.fromAsync(files.list({ limit: 1 }))).toContainEqual(made);
		expect(await (await files.content(made.id)).text()).toBe('a,b');
		const requests = stage.play([text('Read.')]);
		const { output_text } = await client.responses.create({
			model,
			input: [{ role: 'user', content: [{ type: 'input_file', file_id: made.id }] }],
		});
		expect(output_text).toBe('Read.');
		expect(JSON.stringify(requests.at(-1))).toContain(btoa('a,b'));
		expect(await files.delete(made.id)).toMatchObject({ deleted: true });
		expect(await files.retrieve(made.id).catch((error) => error.status)).toBe(404);
	});
});

test('the unchanged package @anthropic-ai/sdk lists models, and names a file that it has uploaded', async () => {
	const client = new Anthropic({ apiKey: 'none', baseURL: stage.url });
	const models = await Array.fromAsync(client.models.list({ limit: 2 }));
	expect(models.find(({ id }) => id === model)).toMatchObject({ type: 'model', max_input_tokens: 1_000_000 });
	const { id } = await client.beta.files.upload({ file: new File(['words'], 'notes.txt') });
	const requests = stage.play([text('Read.')]);
	await client.beta.messages.create({
		...{ model, max_tokens: 100 },
		messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: id } }] }],
	});
	expect(JSON.stringify(requests.at(-1))).toContain(btoa('words'));
	expect(await client.beta.files.delete(id)).toMatchObject({ id });
});
