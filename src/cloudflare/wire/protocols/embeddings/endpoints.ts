import { createEndpoint } from '../../endpoint.ts';
import { embeddingRequest } from './schema.ts';

export const createEmbedding = createEndpoint('post', '/v1/embeddings', {
	access: 'makeVectors',
	ignoresQuery: true,
	json: embeddingRequest,
});
