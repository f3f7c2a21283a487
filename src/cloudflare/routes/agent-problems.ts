import { RunletError, toMessageText } from '../../core/base/errors.ts';
import { assertPublicUrl } from '../../core/base/public-fetch.ts';
import { findObstacle, resolveRegistration } from '../../core/chat/index.ts';
import type { Agent } from '../agent/define.ts';
import { listVariables } from '../agent/mcp-servers.ts';
import { findMemoryOptions } from '../agent/memory.ts';
import { createResolver } from '../agent/resolver.ts';
import type { Runtime } from '../agent/runtime.ts';
import { createShell } from '../agent/shell.ts';
import { listNeeds } from '../agent/tool-needs.ts';
import type { Config } from '../config/config.ts';
import { findVariable } from '../log.ts';
import type { Problem } from '../wire/error.ts';
import { sourceNames } from '../wire/protocols/webhooks/source.ts';

interface Setup {
	readonly runtime: Runtime;
	readonly config: Config;
	/** Whether to check the Worker as a deployed Worker, even if it runs on this machine. */
	readonly isDeployed: boolean;
}

/** Returns what is missing for an agent's models, memory, secrets, MCP servers, remote agents, shell and skills. */
export async function findAgentProblems(agent: Agent, setup: Setup): Promise<readonly Problem[]> {
	const where = `agent ${agent.name}`;
	const checks = [...listChecks(agent, setup)].flatMap((check) => {
		try {
			check();
			return [];
		} catch (error) {
			return [toProblem(where, error)];
		}
	});
	return [...findModelProblems(agent, setup), ...checks, ...(await findMissingSkills(agent, setup))];
}

export function toProblem(where: string, error: unknown, message = toMessageText(error)): Problem {
	const unset = error instanceof RunletError ? findVariable(error) : undefined;
	return { where, message, ...(unset !== undefined && /not set|: set /.test(message) && { unset }) };
}

function findModelProblems(agent: Agent, { runtime, config }: Setup): Problem[] {
	const { model, models = [], fallbacks = [], providerTools } = agent;
	let providers: ReturnType<Runtime['providers']>;
	try {
		providers = runtime.providers(config);
	} catch (error) {
		return [{ where: 'providers', message: toMessageText(error) }];
	}
	return [model ?? config.model, ...models, ...fallbacks].flatMap((name, index) => {
		const obstacle = findObstacle({ model: name, providers, providerTools });
		if (obstacle === undefined) return [];
		const where = index === 0 && model === undefined ? 'MODEL' : `agent ${agent.name}`;
		const remedy = ' Check its name, or give createRunlet a provider that knows it (providers).';
		if (obstacle.code === 'unknown_model') return [toProblem(where, obstacle, `${obstacle.message}${remedy}`)];
		if (obstacle.code === 'not_configured') return [toProblem(where, obstacle)];
		return [
			{ where: `agent ${agent.name}`, message: `its model "${name}" cannot be asked: ${toMessageText(obstacle)}` },
		];
	});
}

function* listChecks(agent: Agent, { runtime, config, isDeployed }: Setup): Generator<() => unknown> {
	const { name, onWaiting, webhooks = {}, mcp = [], tools, skillTools } = agent;
	const allowLoopback = config.local !== undefined && !isDeployed;
	const memory = findMemoryOptions(agent);
	if (memory !== undefined) yield () => config.memories;
	const { embedModel } = memory ?? {};
	if (embedModel !== undefined) yield () => assertEmbeds(embedModel, runtime.providers(config));
	if (onWaiting !== undefined) {
		yield () => config.findCallbackSecrets();
		yield () => assertPublicUrl(onWaiting.callback, { allowLoopback, field: 'onWaiting.callback' });
	}
	for (const source of sourceNames)
		if (webhooks[source] !== undefined) yield () => config.findWebhookSecrets(source, name);
	for (const [index, server] of mcp.entries()) {
		yield () => assertPublicUrl(server.url, { allowLoopback, field: `mcp.${index}.url` });
		for (const variable of listVariables(server)) yield () => config.readText(variable);
		if (server.auth !== undefined) {
			yield () => config.findPublicUrl();
			yield () => config.findSecretsBox();
		}
	}
	for (const { url, variables } of listNeeds([...tools, ...skillTools])) {
		yield () => assertPublicUrl(url, { allowLoopback, field: url });
		for (const variable of variables) yield () => config.readText(variable);
	}
	if ([...tools, ...skillTools].some((tool) => tool.name === 'run_shell')) yield () => assertHasShell(config);
}

function assertEmbeds(model: string, providers: ReturnType<Runtime['providers']>): void {
	const obstacle = findObstacle({ model, providers });
	if (obstacle !== undefined) throw obstacle;
	if (resolveRegistration({ model, providers })?.embedFn === undefined)
		throw new RunletError('not_configured', `memory.embedModel: the provider of "${model}" makes no vectors.`);
}

function assertHasShell(config: Config): void {
	if (createShell(config) !== undefined) return;
	const message =
		'run_shell: needs the bindings LOADER and PAGE. Add to wrangler.toml: [[worker_loaders]] with binding = "LOADER", and binding = "PAGE" under [assets].';
	throw new RunletError('not_configured', message);
}

/** The reader of skills for a check outside of any session. */
const nobody = { owner: '', metadata: {} };

async function findMissingSkills(agent: Agent, { runtime, config }: Setup): Promise<Problem[]> {
	const source = agent.skillResolver ?? runtime.skills;
	// A function can return different skills for each owner, so they cannot be checked here.
	if (typeof source === 'function') return [];
	const named = agent.skills === 'all' ? [] : agent.skills.filter((entry) => typeof entry === 'string');
	if (named.length === 0) return [];
	const where = `agent ${agent.name}`;
	try {
		const resolver = createResolver(agent, { runtime, config, reader: nobody });
		const listed = new Set((await resolver?.listFn({ messages: [], model: config.model }))?.map(({ name }) => name));
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
