import type { DurableObject } from 'cloudflare:workers';
import type { Env } from '../../core/tool/index.ts';
import type { Runtime } from '../agent/runtime.ts';
import { type Config, readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { createEnvironment } from '../config/environment.ts';
import { Directory } from '../objects/directory/object.ts';
import { Ledger } from '../objects/ledger/object.ts';
import { Publisher, type PublisherOptions } from '../objects/publisher/object.ts';
import { Session } from '../session/object.ts';

/** A class of Durable Objects, as a Worker exports it and `wrangler.toml` binds it. */
export type ObjectClass = new (ctx: DurableObjectState, env: Env) => DurableObject<Env>;

/** What the objects of a Worker have in common. */
export interface ObjectsOptions extends Pick<PublisherOptions, 'paceMs'> {
	/** Gives the environment under Runlet's own names. As it is if this is missing. */
	readonly toEnvironment?: (env: Env) => WorkerEnv;
	/** The clock, in milliseconds since 1970. */
	readonly now?: () => number;
}

/** Makes the classes of a Worker's Durable Objects. Each is given what it needs of the environment. */
export function createObjects(runtime: Runtime, options: ObjectsOptions = {}) {
	const { toEnvironment = createEnvironment({}), now, paceMs } = options;
	const read = (env: Env): Config => readConfig(toEnvironment(env));
	return {
		Session: bind(Session, (env) => ({ runtime, config: () => read(env) })),
		Ledger: bind(Ledger, () => ({ now })),
		Directory: bind(Directory, (env) => ({ directories: () => read(env).directories, now })),
		Publisher: bind(Publisher, (env) => {
			const { skills, local } = read(env);
			// KV on a laptop is never stale, and `npm run skills` may write it, too.
			return { skills, trustMs: local ? 0 : undefined, paceMs };
		}),
	};
}

/** Makes a class that the platform can construct of one that wants more than the platform gives. */
function bind<T extends DurableObject<Env>, Options>(
	Base: new (ctx: DurableObjectState, env: Env, options: Options) => T,
	toOptions: (env: Env) => Options,
): new (
	ctx: DurableObjectState,
	env: Env,
) => T {
	const Wanting: new (ctx: DurableObjectState, env: Env, options: Options) => DurableObject<Env> = Base;
	const Bound: ObjectClass = class extends Wanting {
		constructor(ctx: DurableObjectState, env: Env) {
			super(ctx, env, toOptions(env));
		}
	};
	// SAFETY: It extends `Base`, whose instances are `T`. TypeScript has no class that extends a type parameter.
	return Bound as new (
		ctx: DurableObjectState,
		env: Env,
	) => T;
}
