import * as v from 'valibot';

const described = v.object({ name: v.string(), description: v.optional(v.string()) });

/** Whether a model can be asked now. */
export const readiness = v.object({
	name: v.string(),
	provider: v.optional(v.string()),
	ready: v.boolean(),
	needs: v.optional(v.pipe(v.string(), v.description('The variable to set, where that would do.'))),
});

/** An agent that can be talked to. */
export const agent = v.object({
	name: v.string(),
	description: v.string(),
	examples: v.pipe(v.array(v.string()), v.description('Messages that a person may begin with.')),
	model: v.string(),
	ready: v.boolean(),
	models: v.pipe(v.array(readiness), v.description('Its model, and those that a session may choose instead.')),
	fallbacks: v.optional(v.array(readiness)),
	tools: v.array(described),
	skills: v.array(described),
});

export const agentList = v.object({ agents: v.array(agent) });
