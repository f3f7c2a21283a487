/** What has to hold for the types of `providers`; checked by `npm run check`. */
import type { AiBinding } from '../../src/core/providers/index.ts';

/** The binding that Cloudflare's own types describe is one that `workersAi` takes. */
export const realBinding = (ai: Ai): AiBinding => ai;
