/** The module `runlet/cloudflare/messages` (docs/anthropic.md). */
import type { Plugin } from '../plugin.ts';
import { refusalResponse } from '../wire/protocols/anthropic/error.ts';
import { listModels, showModel } from '../wire/protocols/anthropic/models.ts';
import { createMessageRoutes } from './routes.ts';

/** Serves agents as models of Anthropic's Messages. */
export const messages: Plugin = {
	name: 'messages',
	provides: {},
	listRoutes: createMessageRoutes,
	models: { header: 'anthropic-version', list: listModels, show: showModel },
	failures: { path: /^\/v1\/messages(\/|$)/, toResponse: refusalResponse },
};
