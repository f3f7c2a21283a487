import { resolveRegistration } from '../../core/chat/index.ts';
import { toMessageText } from '../../core/ground/errors.ts';
import type { Agent } from '../agent/define.ts';
import { listVariables } from '../agent/mcp-servers.ts';
import { describeReadiness } from '../agent/readiness.ts';
import { createResolver } from '../agent/resolver.ts';
import type { Runtime } from '../agent/runtime.ts';
import { type Config, findConfigProblems, type Problem, readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { unsetVariables } from '../config/environment.ts';
import { findObjectsWithoutSqlite } from './objects.ts';

/** Returns what keeps the Worker or an agent from working: its variables and objects, its agents, their models and skills. */
export async function findProblems(runtime: Runtime, env: WorkerEnv): Promise<readonly Problem[]> {
	const wrong = findConfigProblems(env);
	const problems = [...wrong, ...findNamesakes(runtime.agents)];
	// Reads on without the wrong variables, to find further problems. A missing binding ends the search.
	const rest = unsetVariables(
		env,
		wrong.map(({ where }) => where),
	);
	if (findConfigProblems(rest).length > 0) return problems;
	const settings = readConfig(rest);
	const found = runtime.agents.map(async (agent) => [
		...findUnknownModels(agent, settings, runtime),
		...findMissingTools(agent, settings, runtime),
		...findMissingVariables(agent, settings),
		...(await findMissingSkills(agent, runtime, settings)),
	]);
	const [objects, ...ofAgents] = await Promise.all([findObjectsWithoutSqlite(rest), ...found]);
	return toDistinct([...problems, ...objects, ...ofAgents.flat()]);
}

function findNamesakes(agents: readonly Agent[]): Problem[] {
	const names = agents.map(({ name }) => name);
	const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
	return [...twice].map((name) => ({ where: `agent ${name}`, message: `two agents have this name. Rename one.` }));
}

function findUnknownModels(agent: Agent, config: Config, runtime: Runtime): Problem[] {
	const { model } = config;
	const providers = runtime.providers(config);
	const own = [agent.model ?? [], agent.models ?? [], agent.fallbacks ?? []].flat();
	const isUnknown = (name: string) => describeReadiness(name, providers).provider === undefined;
	const message = (name: string) =>
		`"${name}" is no model that a provider here knows. Take one of docs/models.md, or add its provider in src/cloudflare/config/models.ts.`;
	return [
		...(agent.model === undefined && isUnknown(model) ? [{ where: 'MODEL', message: message(model) }] : []),
		...own.filter(isUnknown).map((name) => ({ where: `agent ${agent.name}`, message: message(name) })),
	];
}

/** Returns the tools of an agent that the provider of one of its models does not have. */
function findMissingTools(agent: Agent, config: Config, runtime: Runtime): Problem[] {
	const { name, providerTools = [], models = [], fallbacks = [] } = agent;
	if (providerTools.length === 0) return [];
	const providers = runtime.providers(config);
	return [agent.model ?? config.model, ...models, ...fallbacks].flatMap((model) => {
		try {
			const found = resolveRegistration({ model, providers });
			found?.computeMost?.(model, { providerTools, inputTokens: 0, outputTokens: 0 });
			return [];
		} catch (error) {
			return [{ where: `agent ${name}`, message: `its model "${model}" cannot be asked: ${toMessageText(error)}` }];
		}
	});
}

/** Returns the variables that the MCP servers of an agent need and that are not set. */
function findMissingVariables({ name, mcp = [] }: Agent, settings: Config): Problem[] {
	const reads = mcp.flatMap((server) => [
		...listVariables(server).map((variable) => () => settings.readText(variable)),
		...(server.auth === undefined ? [] : [settings.findPublicUrl, settings.findSecretsBox]),
	]);
	return reads.flatMap((read) => {
		try {
			read();
			return [];
		} catch (error) {
			return [{ where: `agent ${name}`, message: toMessageText(error) }];
		}
	});
}

/** Reads skills for no owner. */
const nobody = { owner: '', metadata: {} };

/** Returns the skills that an agent names but that are not published. */
async function findMissingSkills(agent: Agent, runtime: Runtime, settings: Config): Promise<Problem[]> {
	const source = agent.skillResolver ?? runtime.skills;
	// It may give each owner other skills.
	if (typeof source === 'function') return [];
	const named = agent.skills === 'all' ? [] : agent.skills.filter((entry) => typeof entry === 'string');
	if (named.length === 0) return [];
	const where = `agent ${agent.name}`;
	try {
		const reader = { runtime, config: settings, reader: nobody };
		const resolver = createResolver(agent, reader);
		const listed = new Set((await resolver?.listFn({ messages: [], model: settings.model }))?.map(({ name }) => name));
		return named
			.filter((name) => !listed.has(name))
			.map((name) => ({
				where,
				message:
					source === undefined
						? `its skill "${name}" is not published. Write skills/${name}/SKILL.md, then npm run skills; or take it out of the agent.`
						: `its resolver has no skill "${name}". Take it out of the agent, or put it into the resolver.`,
			}));
	} catch (error) {
		const hint = source === undefined ? ' Is KV bound as SKILLS?' : '';
		return [{ where, message: `its skills cannot be read (${toMessageText(error)}).${hint}` }];
	}
}

function toDistinct(problems: readonly Problem[]): readonly Problem[] {
	return [...new Map(problems.map((problem) => [`${problem.where} ${problem.message}`, problem])).values()];
}
