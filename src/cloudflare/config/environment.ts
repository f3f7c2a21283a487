import type { Env } from '../../core/base/env.ts';
import type { BindingNames } from './bindings.ts';
import type { WorkerEnv } from './env.ts';

/** What a Worker says about its environment (`createRunlet`). */
export interface EnvironmentSettings {
	/** The project's own names of bindings. */
	readonly bindings?: BindingNames;
	/** Whether an owner may be an account of the product. It has no key then. */
	readonly hasAccounts?: boolean;
	/** Whether skills come from somewhere else, so that nothing has to be bound for them. */
	readonly hasOwnSkills?: boolean;
}

interface Origin extends EnvironmentSettings {
	/** The environment as the project names it. */
	readonly given: Env;
}

const origins = new WeakMap<WorkerEnv, Origin>();

/**
 * Makes a function that gives an environment under Runlet's own names. `readConfig` checks what is in it. The same
 * environment always gives the same object.
 */
export function createEnvironment(settings: EnvironmentSettings): (given: Env) => WorkerEnv {
	const known = new WeakMap<Env, WorkerEnv>();
	return (given) => {
		const before = known.get(given);
		if (before !== undefined) return before;
		const renamed = Object.entries(settings.bindings ?? {}).map(([name, own]) => [name, Reflect.get(given, own)]);
		const env: WorkerEnv = { ...given, ...Object.fromEntries(renamed) };
		origins.set(env, { ...settings, given });
		known.set(given, env);
		return env;
	};
}

/** Returns an environment as if some of its variables were not set. */
export function unsetVariables(env: WorkerEnv, names: readonly string[]): WorkerEnv {
	const rest: WorkerEnv = { ...env, ...Object.fromEntries(names.map((name) => [name, undefined])) };
	origins.set(rest, findOrigin(env));
	return rest;
}

/** Returns what an environment was made from. One that no `createEnvironment` made is its own origin. */
export function findOrigin(env: WorkerEnv): Origin {
	return origins.get(env) ?? { given: env };
}
