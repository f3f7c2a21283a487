import { Hono } from 'hono';
import { type Agent, modelFor } from '../agents/index.ts';
import { config, type Env } from '../config.ts';
import { resolverFor } from '../session/agent.ts';
import { notAllowed } from './request.ts';

/** `/v1/agents`: what can be talked to. */
export function agentsRoute(agents: readonly Agent[]) {
	return new Hono<{ Bindings: Env }>()
		.get('/', async (c) => {
			const settings = config(c.env);
			const described = agents.map(async (agent) => {
				const model = modelFor(agent, undefined, settings.model);
				const listed = (await resolverFor(agent, settings)?.listFn({ messages: [], model })) ?? [];
				return {
					name: agent.name,
					description: agent.description,
					model,
					tools: agent.tools.map(({ name, description }) => ({ name, description })),
					skills: listed.map(({ name, description }) => ({ name, description })),
				};
			});
			return c.json({ agents: await Promise.all(described) });
		})
		.all('/', notAllowed('GET'));
}
