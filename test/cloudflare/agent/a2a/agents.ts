/** Agents that have an agent at another server work for them. */
import * as v from 'valibot';
import { a2aTool } from '../../../../src/cloudflare/agent/a2a/tool.ts';
import { agentTool } from '../../../../src/cloudflare/agent/agent-tool.ts';
import { defineAgent } from '../../../../src/cloudflare/agent/define.ts';
import { tool } from '../../../../src/core/index.ts';

const card = 'https://travel.example.com/card.json';
const about = { description: 'Plans trips.', headers: { authorization: `Bearer \${TRACKER_KEY}` } };

const findCustomer = tool.define({
	name: 'find_customer',
	description: 'Finds the address of a customer.',
	inputSchema: v.object({ name: v.string() }),
	reads: 'private',
	fn: () => 'Ada Lovelace, 12 St James’s Square',
});
const tools = [
	findCustomer,
	a2aTool(card, { ...about, name: 'travel' }),
	a2aTool(card, { ...about, name: 'book', needsApproval: true }),
];
const planner = defineAgent({ name: 'a2a-planner', description: 'Plans.', model: 'scripted', tools });

export const remoteAgents = [
	planner,
	defineAgent({
		name: 'a2a-trusting',
		description: 'Sends to its travel agent without being asked.',
		model: 'scripted',
		tools,
		flow: { targets: ['travel.example.com'] },
	}),
	defineAgent({
		name: 'a2a-private',
		description: 'Has a travel agent that knows its customers.',
		model: 'scripted',
		tools: [a2aTool(card, { ...about, name: 'travel', private: true })],
	}),
	defineAgent({ name: 'a2a-boss', description: 'Has trips planned.', model: 'scripted', tools: [agentTool(planner)] }),
];
