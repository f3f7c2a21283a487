import * as v from 'valibot';
import { described } from './field.ts';

const nameAndDescription = v.object({ name: v.string(), description: v.optional(v.string()) });

export const readiness = v.object({
	name: v.string(),
	provider: v.optional(v.string()),
	ready: v.boolean(),
	contextWindow: v.optional(described(v.number(), 'The most tokens of a request to it. Missing if unknown.')),
	problem: v.optional(described(v.string(), 'Why it is not ready. Only the role admin reads this and `needs`.')),
	needs: v.optional(described(v.string(), 'The variable to set, if setting it makes the model ready.')),
});

const tool = v.object({
	...nameAndDescription.entries,
	needsApproval: v.optional(
		described(
			v.picklist(['always', 'sometimes']),
			'Whether a person decides about each of its calls, or about some. Missing: about none.',
		),
	),
	inputSchema: v.optional(
		described(
			v.record(v.string(), v.unknown()),
			'The JSON Schema of its arguments, of a tool whose calls may wait for an approval (`needsApproval`): people may change them.',
		),
	),
	outputSchema: v.optional(
		described(
			v.record(v.string(), v.unknown()),
			'The JSON Schema of its results, of a tool whose results people give (`manual`).',
		),
	),
});

export const agent = v.object({
	name: v.string(),
	description: v.string(),
	examples: described(v.array(v.string()), 'Messages that a user may start with.'),
	system: v.optional(
		described(v.string(), 'The system prompt, unless a function writes it. Only the role admin reads it.'),
	),
	model: v.string(),
	ready: v.boolean(),
	models: described(v.array(readiness), 'The agent’s model, and the models that a session may choose instead.'),
	fallbacks: v.optional(v.array(readiness)),
	tools: v.array(tool),
	skills: v.array(nameAndDescription),
});

export const agentList = v.object({ agents: v.array(agent) });
