/** The module `runlet/cloudflare/embeddings` (docs/openai.md, "Embeddings"). */

import type { Plugin } from '../plugin.ts';
import { refusalResponse } from '../wire/protocols/openai/error.ts';
import { createEmbeddingRoutes } from './routes.ts';

/** `/v1/embeddings`: vectors of texts, from the models of the Worker's providers. */
export const embeddings: Plugin = {
	name: 'embeddings',
	provides: {},
	listRoutes: createEmbeddingRoutes,
	failures: { path: /^\/v1\/embeddings(\/|$)/, toResponse: refusalResponse },
};
