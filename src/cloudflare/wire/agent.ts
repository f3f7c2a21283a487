import * as v from 'valibot';

const described = v.object({ name: v.string(), description: v.optional(v.string()) });

/** Whether a model is ready to use. */
export const readiness = v.object({
	name: v.string(),
	provider: v.optional(v.string()),
	ready: v.boolean(),
	contextWindow: v.optional(
		v.pipe(v.number(), v.description('The most tokens of a request to it. Missing if nobody knows.')),
	),
	problem: v.optional(
		v.pipe(v.string(), v.description('Why it is not ready. Only the role admin reads this and `needs`.')),
	),
	needs: v.optional(v.pipe(v.string(), v.description('The variable to set, if setting it makes the model ready.'))),
});

/** A tool of an agent. */
const tool = v.object({
	...described.entries,
	needsApproval: v.optional(
		v.pipe(
			v.picklist(['always', 'sometimes']),
			v.description('Whether a person decides about each of its calls, or about some. Missing: about none.'),
		),
	),
	inputSchema: v.optional(
		v.pipe(
			v.record(v.string(), v.unknown()),
			v.description(
				'The JSON Schema of its arguments, of a tool whose calls may wait for an approval (`needsApproval`): people may change them.',
			),
		),
	),
	outputSchema: v.optional(
		v.pipe(
			v.record(v.string(), v.unknown()),
			v.description('The JSON Schema of its results, of a tool whose results people give (`manual`).'),
		),
	),
});

/** An agent. */
export const agent = v.object({
	name: v.string(),
	description: v.string(),
	examples: v.pipe(v.array(v.string()), v.description('Messages that a user may start with.')),
	model: v.string(),
	ready: v.boolean(),
	models: v.pipe(
		v.array(readiness),
		v.description('The agent’s model, and the models that a session may choose instead.'),
	),
	fallbacks: v.optional(v.array(readiness)),
	tools: v.array(tool),
	skills: v.array(described),
});

export const agentList = v.object({ agents: v.array(agent) });
