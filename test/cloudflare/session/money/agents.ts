/** The agents of the walk over money. Each has other choices that are billed. */
import * as v from 'valibot';
import { agentTool } from '../../../../src/cloudflare/agent/agent-tool.ts';
import { type AgentDefinition, defineAgent } from '../../../../src/cloudflare/agent/define.ts';
import { fn } from '../../../../src/core/index.ts';

const echo = fn({ name: 'echo', params: [['text', v.string()]] }, (text) => text);
const long = fn({ name: 'long', params: [['characters', v.number()]] }, (characters) => 'long '.repeat(characters / 5));

const shared = {
	system: 'You are one of many who spend money.',
	maxIterations: 5,
	maxRetries: 1,
	// By the clock of the walk, which is fast.
	timeouts: { firstEventMs: 60_000, idleMs: 10_000 },
} satisfies Partial<AgentDefinition>;

const helper = defineAgent({
	...shared,
	name: 'payer-helper',
	description: 'Works for another one.',
	model: 'gpt-5-mini',
	serviceTier: 'flex',
	tools: [echo, long],
	maxOutputTokens: 1_000,
});

const choices: Readonly<Record<string, Partial<AgentDefinition>>> = {
	'payer-claude': {
		model: 'claude-sonnet-5',
		models: ['claude-opus-4-8'],
		providerTools: [
			{ type: 'web_search', maxUses: 2 },
			{ type: 'web_fetch', maxUses: 1 },
		],
		region: 'us',
		cache: 'auto',
		fallbacks: ['gpt-5-mini'],
		tools: [echo],
	},
	'payer-fast': {
		model: 'claude-opus-4-8',
		providerTools: ['code_execution'],
		speed: 'fast',
		cache: '1h',
		maxOutputTokens: 3_000,
		tools: [echo, long],
	},
	'payer-gpt': {
		model: 'gpt-5',
		models: ['gpt-5-mini'],
		providerTools: [{ type: 'web_search', maxUses: 2 }, 'code_execution'],
		serviceTier: 'priority',
		reasoningEffort: 'low',
		fallbacks: ['gemini-3-flash-preview'],
		tools: [echo],
	},
	'payer-boss': {
		model: 'gpt-5-mini',
		memory: { embedModel: 'text-embedding-3-small' },
		tools: [echo, agentTool(helper), agentTool(helper, { name: 'payer_background', background: true })],
	},
	'payer-gemini': {
		model: 'gemini-3-flash-preview',
		models: ['gemini-2.5-flash'],
		providerTools: ['web_search', 'code_execution'],
		tools: [echo, long],
		fallbacks: ['claude-sonnet-5'],
	},
	'payer-flex': { model: 'gemini-3-flash-preview', serviceTier: 'flex', tools: [echo] },
	'payer-audio': { model: 'audio/gpt-audio', tools: [echo] },
	'payer-acme': {
		model: 'acme/m',
		tools: [echo, long],
		contextFull: 'compact',
		maxContextTokens: 6_000,
		maxOutputTokens: 2_000,
	},
};

export const payers = [
	helper,
	...Object.entries(choices).map(([name, more]) =>
		defineAgent({ ...shared, name, description: 'Spends money.', ...more }),
	),
];

/** The names of the agents that people talk to. */
export const payerNames = Object.keys(choices);
