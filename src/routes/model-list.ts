import { Hono } from 'hono';
import type { Agent } from '../agents/index.ts';
import { getModel, listModels } from '../compat/openai/operations.ts';
import { RunletError } from '../errors.ts';
import type { Runtime } from '../session/agent.ts';
import { assertKey, type RouteEnv } from './identity.ts';
import { serves } from './operation.ts';
import { notAllowed } from './request.ts';

/** `/v1/models`: the agents as OpenAI lists models (design.md, "The wire"). */
export function modelsRoute({ agents }: Pick<Runtime, 'agents'>) {
	return new Hono<RouteEnv>()
		.get('/', serves(listModels), (c) => {
			assertKey(c);
			return c.json({ object: 'list', data: agents.map(modelOf) });
		})
		.all('/', notAllowed('GET'))
		.get('/:model', serves(getModel), (c) => {
			assertKey(c);
			return c.json(modelOf(agentNamed(agents, c.req.param('model'))));
		})
		.all('/:model', notAllowed('GET'));
}

/** The agent that a client calls a model; throws `model_not_found` that lists the others. */
export function agentNamed(agents: readonly Agent[], name: string): Agent {
	const agent = agents.find((one) => one.name === name);
	if (agent !== undefined) return agent;
	const known = agents.map((one) => one.name).join(', ');
	const message = `model: there is no agent named "${name.slice(0, 200)}". A model is an agent here: ${known}.`;
	throw new RunletError('model_not_found', message, { field: 'model' });
}

/** Nobody knows when an agent was written. */
function modelOf({ name }: Agent) {
	return { id: name, object: 'model' as const, created: 0, owned_by: 'runlet' };
}
