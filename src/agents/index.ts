/** The agents that this Worker serves. Add yours: one file, one line here. */

import { assistant } from './assistant.ts';
import { type Agent, distinct } from './define.ts';
import { support } from './support.ts';

export {
	type Agent,
	type AgentDefinition,
	defineAgent,
	distinct,
	findAgent,
	modelFor,
} from './define.ts';

export const agents: readonly Agent[] = distinct([assistant, support]);
