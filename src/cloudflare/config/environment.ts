import type { Env } from '../../core/base/env.ts';
import type { BindingNames } from './bindings.ts';
import type { WorkerEnv } from './env.ts';
import type { PlacedAgent } from './placement.ts';

export interface EnvironmentSettings {
	readonly bindings?: BindingNames;
	/** Whether an owner can be an account, which has no key. */
	readonly hasAccounts?: boolean;
	/** Whether skills come from a source that needs no binding. */
	readonly hasOwnSkills?: boolean;
	readonly agents?: readonly PlacedAgent[];
}

interface Origin extends EnvironmentSettings {
	/** The environment with the project's own names. */
	readonly original: Env;
}

const origins = new WeakMap<WorkerEnv, Origin>();

/** Renames the bindings of an environment to Runlet's names. Returns the same object for the same environment. */
export function createEnvironment(settings: EnvironmentSettings): (original: Env) => WorkerEnv {
	const known = new WeakMap<Env, WorkerEnv>();
	return (original) => {
		const before = known.get(original);
		if (before !== undefined) return before;
		const renamed = Object.entries(settings.bindings ?? {}).map(([name, own]) => [name, Reflect.get(original, own)]);
		const env: WorkerEnv = { ...original, ...Object.fromEntries(renamed) };
		origins.set(env, { ...settings, original });
		known.set(original, env);
		return env;
	};
}

export function unsetVariables(env: WorkerEnv, names: readonly string[]): WorkerEnv {
	const rest: WorkerEnv = { ...env, ...Object.fromEntries(names.map((name) => [name, undefined])) };
	origins.set(rest, findOrigin(env));
	return rest;
}

/** Finds the original of an environment. An environment that `createEnvironment` did not make is its own original. */
export function findOrigin(env: WorkerEnv): Origin {
	return origins.get(env) ?? { original: env };
}
