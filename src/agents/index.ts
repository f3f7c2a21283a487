/** The agents that this Worker serves. Add yours: one file, one line here. */

import { type Agent, checkAgents } from '../cloudflare/agent/define.ts';
import { assistant } from './assistant.ts';
import { support } from './support.ts';
import { triage } from './triage.ts';

export const agents: readonly Agent[] = checkAgents([assistant, support, triage]);
