import * as v from 'valibot';

const text = v.string();

const skill = v.object({
	id: text,
	name: text,
	description: text,
	tags: v.array(text),
	examples: v.nullish(v.array(text)),
});

/** The description of an agent, by which clients find out how to call it. */
export const agentCard = v.object({
	name: text,
	description: text,
	supportedInterfaces: v.array(v.object({ url: text, protocolBinding: text, protocolVersion: text })),
	version: text,
	capabilities: v.object({
		streaming: v.nullish(v.boolean()),
		pushNotifications: v.nullish(v.boolean()),
		extendedAgentCard: v.nullish(v.boolean()),
	}),
	securitySchemes: v.nullish(v.record(text, v.record(text, v.unknown()))),
	securityRequirements: v.nullish(v.array(v.object({ schemes: v.record(text, v.object({ list: v.array(text) })) }))),
	defaultInputModes: v.array(text),
	defaultOutputModes: v.array(text),
	skills: v.array(skill),
});

export type AgentCard = v.InferOutput<typeof agentCard>;
