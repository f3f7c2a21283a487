import type { Context } from 'hono';
import type { Tool } from '../../core/tool/index.ts';
import { chooseModel, findAgent } from '../agent/define.ts';
import { describeModel } from '../agent/readiness.ts';
import { createResolver } from '../agent/resolver.ts';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import type { agent as agentSchema } from '../wire/agent.ts';
import * as endpoints from '../wire/endpoints/agents.ts';
import type { Shown } from '../wire/operation.ts';
import { getActor, getPerson, type RouteEnv } from './identity.ts';
import { getReader } from './reader.ts';
import { mount } from './request.ts';
import { toJson, toStream } from './respond.ts';
import { toOutsideAnswer, writeCall } from './tool-call.ts';
import { findToolSession, usualSession } from './tool-session.ts';

/** `/v1/agents`: lists the agents and their models, and what a model needs to be ready. */
export function createAgentRoutes(runtime: Runtime) {
	return [
		mount(endpoints.listAgents, async (c) => {
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
		mount(endpoints.listAgentTools, async (c) => {
			const { caller, agent, session } = findPlace(runtime, c, c.req.valid('query').session);
			const tools = await session.ask((one) => one.tools(caller, agent.name, session.create), true);
			return c.json({
				tools: tools.map(({ name, description, inputSchema, outputSchema, isManual }) => {
					return { name, description, inputSchema, outputSchema, ...(isManual && { manual: true as const }) };
				}),
			});
		}),
		mount(endpoints.callTool, async (c) => {
			const { tool, input, answer, session: name } = c.req.valid('json');
			const { caller, agent, session } = findPlace(runtime, c, name);
			const call = { agent: agent.name, tool, input, canAsk: true, ...(answer && { answer: toOutsideAnswer(answer) }) };
			const lines = await session.ask((one) => one.callTool(caller, call, session.create));
			return toJson(toStream(await writeCall(lines, tool, getReader(c))), { 'cache-control': 'no-store' });
		}),
	];
}

/** Finds the agent of the path, and the session in which the caller calls its tools. */
function findPlace({ agents }: Runtime, c: Context<RouteEnv, '/v1/agents/:agent'>, name: string = usualSession) {
	const agent = findAgent(agents, c.req.param('agent'));
	const caller = getPerson(c);
	return { agent, caller, session: findToolSession(c, { caller, agent, name }) };
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
