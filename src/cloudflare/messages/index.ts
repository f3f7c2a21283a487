/** The module `runlet/cloudflare/messages` (docs/anthropic.md). */
import type { Plugin } from '../plugin.ts';
import { refusalResponse } from '../wire/protocols/anthropic/error.ts';
import { createMessageRoutes } from './routes.ts';

/** Serves agents as models of Anthropic's Messages. */
export const messages: Plugin = {
	name: 'messages',
	provides: {},
	listRoutes: createMessageRoutes,
	failures: { path: /^\/v1\/messages(\/|$)/, toResponse: refusalResponse },
};
