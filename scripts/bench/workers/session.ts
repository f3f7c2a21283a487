/**
 * Runlet's sessions: a Worker of one agent with a tool, like a new project. Requests need a key, and each owner has a
 * budget, as deployed.
 */
import { defineAgent } from '../../../src/cloudflare/agent/define.ts';
import { createRunlet } from '../../../src/cloudflare/runlet/index.ts';
import { look, model } from './tool.ts';

const bench = defineAgent({ name: 'bench', description: 'Does what the plan says.', model, tools: [look] });
// workerd alone has no KV, and this agent has no skills.
const skills = { listFn: () => [], readFn: () => undefined };
const runlet = createRunlet({ agents: [bench], skills });

export const { Session, Ledger, Directory } = runlet;
export default runlet;
