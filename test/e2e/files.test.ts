import Anthropic from '@anthropic-ai/sdk';
import { OpenAIEmbeddings } from '@langchain/openai';
import { createOpenAI as openai5 } from 'ai-openai5';
import { createOpenAI as openai7 } from 'ai-openai7';
import { embedMany as embedMany5 } from 'ai5';
import { embedMany as embedMany7 } from 'ai7';
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

const input = ['a red car', 'a green tree'];
/** The vectors of the model `demo`. */
const vectors = async () => (await new OpenAI(settings()).embeddings.create({ model: 'demo', input })).data;
const near = (all: readonly (readonly number[])[]) => all.map((one) => one.map((number) => number.toFixed(4)));

test.each<[string, () => Promise<readonly (readonly number[])[]>]>([
	...versions.map(([name, create]): [string, () => Promise<number[][]>] => [
		name,
		async () => (await create().embeddings.create({ model: 'demo', input })).data.map((one) => one.embedding),
	]),
	[
		'@langchain/openai',
		() => {
			const { apiKey, baseURL } = settings();
			return new OpenAIEmbeddings({ apiKey, model: 'demo', configuration: { baseURL } }).embedDocuments(input);
		},
	],
	[
		'AI SDK 5',
		async () => (await embedMany5({ model: openai5(settings()).textEmbeddingModel('demo'), values: input })).embeddings,
	],
	[
		'AI SDK 7',
		async () => (await embedMany7({ model: openai7(settings()).embeddingModel('demo'), values: input })).embeddings,
	],
])('the unchanged package %s gets vectors', async (_, embed) => {
	const expected = (await vectors()).map((one) => one.embedding);
	expect(expected).toHaveLength(2);
	expect(near(await embed())).toEqual(near(expected));
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
