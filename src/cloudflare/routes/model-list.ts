import { createFieldError, type RunletError } from '../../core/base/errors.ts';
import { type Agent, chooseModel } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import { getModel, listModels } from '../wire/protocols/openai/endpoints.ts';
import { mount } from './request.ts';

/** `/v1/models`: lists one model for each agent, and one for each other model of an agent (docs/openai.md). */
export function createModelRoutes({ agents }: Pick<Runtime, 'agents'>) {
	return [
		mount(listModels, (c) => c.json({ object: 'list', data: agents.flatMap(modelNames).map(toModel) })),
		mount(getModel, (c) => {
			const name = c.req.param('model');
			findModel(agents, name, readConfig(c.env).model);
			return c.json(toModel(name));
		}),
	];
}

/**
 * Finds the agent of a model name, which is `agent`, or `agent:model` for another model of the agent. `fallback` is the
 * Worker's model. Throws `model_not_found`, which lists the possible names.
 */
export function findModel(
	agents: readonly Agent[],
	name: string,
	fallback: string,
): { readonly agent: Agent; readonly model: string | undefined } {
	const colon = name.indexOf(':');
	const agentName = colon === -1 ? name : name.slice(0, colon);
	const agent = agents.find((one) => one.name === agentName);
	if (agent === undefined) {
		const known = agents.map((one) => one.name).join(', ');
		throw notFound(`there is no agent named "${agentName.slice(0, 200)}". A model is an agent here: ${known}.`);
	}
	if (colon === -1) return { agent, model: undefined };
	const model = name.slice(colon + 1);
	if (model === chooseModel(agent, undefined, fallback) || agent.models?.includes(model)) return { agent, model };
	throw notFound(`${agentName} does not run on "${model.slice(0, 200)}". Possible: ${modelNames(agent).join(', ')}.`);
}

function modelNames({ name, models = [] }: Agent): string[] {
	return [name, ...models.map((model) => `${name}:${model}`)];
}

/** Makes the entry of a model. An agent has no creation time. */
function toModel(id: string) {
	return { id, object: 'model' as const, created: 0, owned_by: 'runlet' };
}

function notFound(why: string): RunletError {
	return createFieldError('model_not_found', 'model', why);
}
