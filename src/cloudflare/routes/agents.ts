import type { Tool } from '../../core/tool/index.ts';
import { chooseModel } from '../agent/define.ts';
import { describeModel } from '../agent/readiness.ts';
import { createResolver } from '../agent/resolver.ts';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import type { agent as agentSchema } from '../wire/agent.ts';
import { listAgents } from '../wire/endpoints/service.ts';
import type { Shown } from '../wire/operation.ts';
import { getActor } from './identity.ts';
import { getReader } from './reader.ts';
import { mount } from './request.ts';

/** `/v1/agents`: lists the agents and their models, and what a model needs to be ready. */
export function createAgentRoutes(runtime: Runtime) {
	return [
		mount(listAgents, async (c) => {
			const settings = readConfig(c.env);
			const providers = runtime.providers(settings);
			const { isOperator } = getReader(c);
			const origin = `${new URL(c.req.url).origin}${c.var.basePath}`;
			const reader = { runtime, config: settings, reader: { ...getActor(c), metadata: {} } };
			const described = runtime.agents.map(async (agent): Promise<Shown<typeof agentSchema>> => {
				const model = chooseModel(agent, undefined, settings.model);
				const listed = (await createResolver(agent, reader)?.listFn({ messages: [], model })) ?? [];
				const describe = (names: readonly string[]) =>
					Promise.all(names.map((name) => describeModel(name, agent, { providers, isOperator })));
				const models = await describe([...new Set([model, ...(agent.models ?? [])])]);
				return {
					name: agent.name,
					description: agent.description,
					examples: (agent.examples ?? []).map((text) => text.replaceAll('{origin}', origin)),
					...(isOperator && typeof agent.system === 'string' && { system: agent.system }),
					model,
					ready: models[0]?.ready === true,
					models,
					...(agent.fallbacks !== undefined && { fallbacks: await describe(agent.fallbacks) }),
					tools: agent.tools.map(describeTool),
					skills: listed.map(({ name, description }) => ({ name, description })),
				};
			});
			return c.json({ agents: await Promise.all(described) });
		}),
	];
}

function describeTool({ name, description, manual, needsApproval = false, inputSchema, outputSchema }: Tool) {
	return {
		name,
		description,
		...(needsApproval !== false && {
			needsApproval: needsApproval === true ? ('always' as const) : ('sometimes' as const),
			inputSchema,
		}),
		...(manual === true && outputSchema !== undefined && { outputSchema }),
	};
}
