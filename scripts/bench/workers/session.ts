/**
 * Runlet's sessions: the Worker of this repository, with one more agent. Requests need a key, and each owner has a budget,
 * as deployed.
 */
import { agents } from '../../../src/agents/index.ts';
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { mcp } from '../../../src/cloudflare/mcp/index.ts';
import { createRunlet } from '../../../src/cloudflare/runlet/index.ts';
import { look, model } from './tool.ts';

const bench = defineAgent({ name: 'bench', description: 'Does what the plan says.', model, tools: [look] });
// workerd alone has no KV, and this agent no skills.
const skills = { listFn: () => [], readFn: () => undefined };
const runlet = createRunlet({ agents: [...agents, bench], mcp, skills });

export const { Session, Ledger, Directory } = runlet;
export default runlet;
