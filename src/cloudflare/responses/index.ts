/** The module `runlet/cloudflare/responses` (docs/responses.md). */

import type { Plugin } from '../plugin.ts';
import { refusalResponse } from '../wire/protocols/openai/error.ts';
import { createConversationRoutes } from './conversations.ts';
import { createResponseRoutes } from './responses.ts';

/** `/v1/responses` and `/v1/conversations`: serves agents to the clients of OpenAI's Responses API. */
export const responses: Plugin = {
	name: 'responses',
	provides: {},
	listRoutes: (runtime, dispatch) => [...createResponseRoutes(runtime, dispatch), ...createConversationRoutes(runtime)],
	failures: { path: /^\/v1\/(responses|conversations)(\/|$)/, toResponse: refusalResponse },
};
