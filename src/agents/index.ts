/** The agents that this Worker serves. Add yours: one file, one line here. */

import { type Agent, distinct } from '../cloudflare/agent/define.ts';
import { assistant } from './assistant.ts';
import { support } from './support.ts';
import { triage } from './triage.ts';

export {
	type Agent,
	type AgentDefinition,
	chooseModel,
	defineAgent,
	distinct,
	findAgent,
} from '../cloudflare/agent/define.ts';
export { listToolNames } from '../cloudflare/agent/tool-names.ts';

export const agents: readonly Agent[] = distinct([assistant, support, triage]);
