/**
 * What `import { Memory, memory } from 'runlet/cloudflare/memory'` gives: pass `memory` as `createRunlet({ agents, memory })`,
 * and export the class `Memory` beside the other Durable Objects (docs/memory.md).
 */

import type { Remembrance } from '../routes/parts.ts';
import { recallAgain, recallFor } from './recall.ts';
import { memoryRoutes } from './routes.ts';
import { createMemoryTools } from './tools.ts';

export { Memory } from '../objects/memory/object.ts';

/** What agents remember beyond a session, for `createRunlet({ memory })`. */
export const memory: Remembrance = { createTools: createMemoryTools, recallFor, recallAgain, routes: memoryRoutes };
