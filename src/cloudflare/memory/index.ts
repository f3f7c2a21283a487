/**
 * What `import { Memory, memory } from 'runlet/cloudflare/memory'` gives: `createRunlet({ agents, plugins: [memory]
 * })`, and the class `Memory`, which the Worker exports beside the other Durable Objects (docs/memory.md).
 */

import type { Plugin } from '../plugin.ts';
import { recallAgain, recallFor } from './recall.ts';
import { memoryRoutes } from './routes.ts';
import { createMemoryTools } from './tools.ts';

export { Memory } from '../objects/memory/object.ts';

/** What agents remember beyond a session. */
export const memory: Plugin = {
	name: 'memory',
	provides: { memory: { createTools: createMemoryTools, recallFor, recallAgain } },
	listRoutes: () => memoryRoutes,
};
