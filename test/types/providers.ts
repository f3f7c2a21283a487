/** Types of `providers`. `npm run check` checks them. */
import type { AiBinding } from '../../src/core/providers/index.ts';

/** `workersAi` accepts the `Ai` binding of Cloudflare's types. */
export const realBinding = (ai: Ai): AiBinding => ai;
