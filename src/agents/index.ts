/** The agents that this Worker serves. Add yours: one file, one line here. */

import { assistant } from './assistant.ts';
import { type Agent, distinct } from './define.ts';
import { support } from './support.ts';
import { triage } from './triage.ts';

export {
	type Agent,
	type AgentDefinition,
	defineAgent,
	distinct,
	findAgent,
	modelFor,
} from './define.ts';
export { toolNamesOf } from './tool-names.ts';

export const agents: readonly Agent[] = distinct([assistant, support, triage]);
