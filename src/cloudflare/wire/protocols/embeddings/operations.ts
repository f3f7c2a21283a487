import { createOperations } from '../../operation.ts';
import { errorSchema } from '../openai/completion.ts';
import * as endpoints from './endpoints.ts';
import { embeddingListSchema } from './schema.ts';

const operation = createOperations('OpenAI');

export const createEmbedding = operation(endpoints.createEmbedding, {
	summary: 'Make vectors of texts',
	description:
		'Like OpenAI’s Embeddings, with a model of one of the Worker’s providers. Needs the role staff, and the plugin `embeddings`.',
	examples: {
		text: { model: 'text-embedding-3-small', input: 'Drives an automobile.' },
		texts: { model: 'text-embedding-3-small', input: ['a car', 'a tree'], encoding_format: 'base64', dimensions: 256 },
	},
	answers: {
		200: {
			says: 'A vector for each text.',
			json: embeddingListSchema,
			examples: {
				vectors: {
					object: 'list',
					data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }],
					model: 'text-embedding-3-small',
					usage: { prompt_tokens: 5, total_tokens: 5 },
				},
			},
		},
	},
	errors: [402],
	failure: { json: errorSchema },
});
