/**
 * The module `runlet/cloudflare/memory` (docs/memory.md). The Worker also exports the class `Memory`, like the other
 * Durable Objects.
 */

import type { Plugin } from '../plugin.ts';
import { recallAgain, recallFor } from './recall.ts';
import { memoryRoutes } from './routes.ts';
import { createMemoryTools } from './tools.ts';

export { Memory } from '../objects/memory/object.ts';

/** Memories that agents keep beyond a session. */
export const memory: Plugin = {
	name: 'memory',
	provides: { memory: { createTools: createMemoryTools, recallFor, recallAgain } },
	listRoutes: () => memoryRoutes,
};
