import { agentList } from '../agent.ts';
import * as endpoints from '../endpoints/agents.ts';
import { createOperations } from '../operation.ts';
import { agentTools, toolCallEnd } from '../tool-call.ts';

const operation = createOperations('Agents');

export const listAgents = operation(endpoints.listAgents, {
	summary: 'List the agents',
	description: 'With their models and whether those are ready, their tools and their skills.',
	answers: {
		200: {
			says: 'All agents.',
			json: agentList,
			examples: {
				agents: {
					agents: [
						{
							name: 'assistant',
							description: 'Answers questions.',
							examples: ['What is 17 + 25?'],
							model: 'claude-sonnet-4-6',
							ready: false,
							models: [
								{
									name: 'claude-sonnet-4-6',
									provider: 'Anthropic',
									ready: false,
									contextWindow: 1_000_000,
									needs: 'ANTHROPIC_API_KEY',
								},
							],
							tools: [
								{ name: 'add', description: 'Add two numbers.' },
								{
									name: 'pay',
									description: 'Pay an amount in euros.',
									needsApproval: 'always',
									inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
								},
							],
							skills: [],
						},
					],
				},
			},
		},
	},
});

export const listAgentTools = operation(endpoints.listAgentTools, {
	summary: 'List the tools of an agent',
	description: 'Those that `callTool` can call: the agent’s own, with those of its owner and of its servers.',
	answers: {
		200: {
			says: 'The tools, with the schemas of their arguments.',
			json: agentTools,
			examples: {
				tools: {
					tools: [
						{
							name: 'add',
							description: 'Add two numbers.',
							inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
						},
					],
				},
			},
		},
	},
	errors: [404],
});

export const callTool = operation(endpoints.callTool, {
	summary: 'Call a tool without a run',
	description:
		'Calls it with the files, the state, the checks and the limits of a run, but nothing enters a conversation, and no model is asked. A call that waits for a person is sent again with its `answer`. Two equal requests are two calls. If the caller leaves, the call is aborted.',
	examples: {
		call: { tool: 'add', input: { a: 17, b: 25 } },
		approval: {
			tool: 'pay',
			input: { amount: 5 },
			answer: { waiting: '6f1c0de2a7b94c53805d9e1f2a3b4c5d', approve: true },
		},
	},
	answers: {
		200: {
			says: 'The result, or what the call waits for.',
			json: toolCallEnd,
			examples: {
				result: { type: 'result', output: '42', isError: false, notes: [] },
				waits: { type: 'waits', for: 'approval', waiting: '6f1c0de2a7b94c53805d9e1f2a3b4c5d', notes: [] },
			},
		},
	},
	errors: [404, 409],
});
