import type { Context } from 'hono';
import { createFieldError, type RunletError } from '../../core/base/errors.ts';
import { type ProviderRegistration, resolveRegistration } from '../../core/chat/index.ts';
import { type Agent, chooseModel } from '../agent/define.ts';
import type { Runtime } from '../agent/runtime.ts';
import { hasRight } from '../auth/rights.ts';
import { readConfig } from '../config/config.ts';
import type { ShownModel } from '../wire/protocols/openai/completion.ts';
import { getModel, listModels } from '../wire/protocols/openai/endpoints.ts';
import type { RouteEnv } from './identity.ts';
import { mount } from './request.ts';

/** The form of `/v1/models` for the clients of another protocol. Each of their requests has a header. */
export interface ModelForm {
	readonly header: string;
	list(models: readonly ShownModel[], query: Readonly<Record<string, string>>): object;
	show(model: ShownModel): object;
}

/** `/v1/models`: lists one model for each agent, and one for each other model of an agent (docs/openai.md, "Models"). */
export function createModelRoutes(
	{ agents, providers }: Pick<Runtime, 'agents' | 'providers'>,
	forms: readonly ModelForm[],
) {
	const show = (c: Context<RouteEnv>, names: readonly string[]): Promise<ShownModel[]> => {
		const { identity } = c.var;
		const config = readConfig(c.env);
		const reader = {
			providers: providers(config),
			seesPrices: identity.kind === 'person' && hasRight(identity.role, 'seeUsers'),
		};
		return Promise.all(
			names.map((name) => {
				const { agent, model } = findModel(agents, name, config.model);
				return toModel(name, agent, { ...reader, model: chooseModel(agent, model, config.model) });
			}),
		);
	};
	const findForm = (c: Context<RouteEnv>) => forms.find(({ header }) => c.req.header(header) !== undefined);
	return [
		mount(listModels, async (c) => {
			const data = await show(c, agents.flatMap(modelNames));
			return Response.json(findForm(c)?.list(data, c.req.query()) ?? { object: 'list', data });
		}),
		mount(getModel, async (c) => {
			const [model] = await show(c, [c.req.param('model')]);
			return Response.json(model && (findForm(c)?.show(model) ?? model));
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

interface ModelReader {
	readonly model: string;
	readonly providers: readonly ProviderRegistration[];
	readonly seesPrices: boolean;
}

/** The fields of a request that count for each agent. */
const parameters = ['tools', 'tool_choice', 'response_format', 'structured_outputs', 'max_tokens', 'stop'];

/** Makes the entry of a model. An agent has no creation time. */
async function toModel(
	id: string,
	{ description, maxContextTokens, maxOutputTokens }: Agent,
	{ model, providers, seesPrices }: ModelReader,
): Promise<ShownModel> {
	const found = resolveRegistration({ model, providers });
	const { vision, audio } = found?.meta ?? {};
	return {
		...{ id, object: 'model', created: 0, owned_by: 'runlet', description },
		context_length: maxContextTokens ?? (await found?.contextWindow?.(model)),
		max_completion_tokens: maxOutputTokens,
		architecture: {
			input_modalities: ['text', 'file', ...(vision ? ['image'] : []), ...(audio ? ['audio'] : [])],
			output_modalities: ['text'],
		},
		supported_parameters: parameters,
		pricing: seesPrices ? await findPricing(model, found) : undefined,
	};
}

/** Returns the list price of a token. A provider's discount or surcharge for many tokens is left out. */
async function findPricing(
	model: string,
	found: ProviderRegistration | undefined,
): Promise<ShownModel['pricing'] | undefined> {
	const find = (inputTokens: number, cachedInputTokens = 0) => {
		const usage = { inputTokens, cachedInputTokens, outputTokens: 1 - inputTokens };
		return found?.computePrice?.(model, usage);
	};
	const [prompt, completion, read] = await Promise.all([find(1), find(0), find(1, 1)]);
	if (prompt === undefined || completion === undefined || read === undefined) return undefined;
	return { prompt: toDecimal(prompt), completion: toDecimal(completion), input_cache_read: toDecimal(read) };
}

/** Writes dollars without an exponent. */
function toDecimal(usd: number): string {
	return usd.toFixed(15).replace(/\.?0+$/, '');
}

function notFound(why: string): RunletError {
	return createFieldError('model_not_found', 'model', why);
}
