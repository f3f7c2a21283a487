import { RunletError, toErrorBody } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import { findMemoryOptions } from '../agent/memory.ts';
import type { Runtime } from '../agent/runtime.ts';
import { type Config, findConfigProblems, readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { unsetVariables } from '../config/environment.ts';
import { getHealth } from '../wire/endpoints/service.ts';
import type { Problem } from '../wire/error.ts';
import { findAgentProblems, toProblem } from './agent-problems.ts';
import { assertMayLook } from './identity.ts';
import { findObjectsWithoutSqlite } from './objects.ts';
import { mount } from './request.ts';

/** `/healthz`: answers that the Worker runs. With `?deep` it also checks the setup. */
export function createHealthRoutes(runtime: Checked) {
	return [
		mount(getHealth, async (c) => {
			if (c.req.valid('query').deep === undefined) return c.json({ status: 'ok' as const });
			await assertMayLook(c);
			// With `deep=deployed`, checks the Worker on this machine as if it were deployed.
			const isDeployed = c.req.valid('query').deep === 'deployed';
			const problems = await findProblems(runtime, c.env, isDeployed);
			c.header('cache-control', 'no-store');
			if (problems.length === 0) return c.json({ status: 'ok' as const, problems });
			const message = problems.map((problem) => `${problem.where}: ${problem.message}`).join(' ');
			const error = new RunletError('not_configured', message);
			return c.json({ ...toErrorBody(error), status: 'problems' as const, problems }, 503);
		}),
	];
}

export type Checked = Runtime & { readonly links?: object };

async function findProblems(runtime: Checked, env: WorkerEnv, isDeployed: boolean): Promise<readonly Problem[]> {
	const wrong = findConfigProblems(env);
	const problems = [...wrong, ...findNamesakes(runtime.agents)];
	// Continues without the wrong variables, to find more problems. Stops if a binding is missing.
	const rest = unsetVariables(
		env,
		wrong.map(({ where }) => where),
	);
	if (findConfigProblems(rest).length > 0) return problems;
	const config = readConfig(rest);
	const hasMemory = runtime.agents.some((agent) => findMemoryOptions(agent) !== undefined);
	const [objects, ...ofAgents] = await Promise.all([
		findObjectsWithoutSqlite(rest, { hasMemory }),
		...runtime.agents.map((agent) => findAgentProblems(agent, { runtime, config, isDeployed })),
	]);
	return toDistinct([...problems, ...objects, ...ofAgents.flat(), ...findLinkProblems(runtime, config)]);
}

/** Finds the problems of decision links, which need the public address of the Worker. */
function findLinkProblems({ links }: Checked, config: Config): Problem[] {
	if (links === undefined) return [];
	try {
		config.findPublicUrl();
		return [];
	} catch (error) {
		return [toProblem('links', error)];
	}
}

function findNamesakes(agents: readonly Agent[]): Problem[] {
	const names = agents.map(({ name }) => name);
	const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
	return [...twice].map((name) => ({ where: `agent ${name}`, message: `two agents have this name. Rename one.` }));
}

function toDistinct(problems: readonly Problem[]): readonly Problem[] {
	return [...new Map(problems.map((problem) => [`${problem.where} ${problem.message}`, problem])).values()];
}
