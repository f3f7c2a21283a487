/** The module `runlet/cloudflare/a2a` (docs/a2a.md). */

import type { Plugin } from '../plugin.ts';
import { toRefusal } from '../wire/protocols/a2a/error.ts';
import { changeReceivers, createRequest } from './receivers.ts';
import { createA2aRoutes } from './routes.ts';

/** A2A: serves agents to other agents and their clients. */
export const a2a: Plugin = {
	name: 'a2a',
	provides: { push: { change: changeReceivers, createRequest } },
	listRoutes: createA2aRoutes,
	failures: { path: /^\/v1\/a2a\/[^/]+$/, toResponse: toRefusal },
};
