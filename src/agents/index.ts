/** The agents that this Worker serves. Add yours: one file, one line here. */

import { assistant } from './assistant.ts';
import type { Agent } from './define.ts';
import { support } from './support.ts';

export { type Agent, type AgentDefinition, defineAgent, findAgent, modelFor } from './define.ts';

export const agents: readonly Agent[] = [assistant, support];
