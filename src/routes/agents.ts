import { Hono } from 'hono';
import { modelFor } from '../agents/index.ts';
import { canTalk, type ProviderRegistration, resolveRegistration } from '../chat/index.ts';
import { config } from '../config.ts';
import { type Runtime, resolverFor } from '../session/agent.ts';
import type { agent as agentSchema, readiness as readinessSchema } from '../wire/agent.ts';
import { listAgents } from '../wire/operations/service.ts';
import type { Shown } from '../wire/shown.ts';
import type { RouteEnv } from './identity.ts';
import { serves } from './operation.ts';
import { notAllowed } from './request.ts';

/** `/v1/agents`: what can be talked to, on which models, and what those that are not ready need. */
export function agentsRoute({ agents, providers: providersOf }: Runtime) {
	return new Hono<RouteEnv>()
		.get('/', serves(listAgents), async (c) => {
			const settings = config(c.env);
			const providers = providersOf(settings);
			const described = agents.map(async (agent): Promise<Shown<typeof agentSchema>> => {
				const model = modelFor(agent, undefined, settings.model);
				const listed = (await resolverFor(agent, settings, providers)?.listFn({ messages: [], model })) ?? [];
				return {
					name: agent.name,
					description: agent.description,
					examples: agent.examples ?? [],
					model,
					ready: readiness(model, providers).ready,
					models: [...new Set([model, ...(agent.models ?? [])])].map((one) => readiness(one, providers)),
					...(agent.fallbacks !== undefined && {
						fallbacks: agent.fallbacks.map((one) => readiness(one, providers)),
					}),
					tools: agent.tools.map(({ name, description }) => ({ name, description })),
					skills: listed.map(({ name, description }) => ({ name, description })),
				};
			});
			return c.json({ agents: await Promise.all(described) });
		})
		.all('/', notAllowed('GET'));
}

/** Whether a model can be asked now; if not, `needs` is the variable to set, where that would do. */
function readiness(name: string, providers: readonly ProviderRegistration[]): Shown<typeof readinessSchema> {
	const found = resolveRegistration({ model: name, providers });
	const ready = found !== undefined && canTalk(found);
	return {
		name,
		...(found !== undefined && { provider: found.displayName }),
		ready,
		...(!ready && found?.needs !== undefined && { needs: found.needs }),
	};
}
