import type { DurableObject } from 'cloudflare:workers';
import type { Env } from '../../core/base/env.ts';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { createEnvironment } from '../config/environment.ts';
import { Directory } from '../objects/directory/object.ts';
import { Ledger } from '../objects/ledger/object.ts';
import { Publisher, type PublisherOptions } from '../objects/publisher/object.ts';
import type { Provided } from '../plugin.ts';
import { Session } from '../session/object.ts';
import { createAlertSender, type OnSpending } from './spending.ts';

/** The common options of a Worker's objects. */
export interface ObjectsOptions extends Pick<PublisherOptions, 'paceMs'> {
	/** Returns the environment with its bindings under Runlet's own names. By default the environment is unchanged. */
	readonly toEnvironment?: (env: Env) => WorkerEnv;
	/** The clock, in milliseconds since 1970. */
	readonly now?: () => number;
	/** Called with the spent share of a budget. */
	readonly onSpending?: OnSpending;
}

/** Makes the classes of a Worker's Durable Objects. Each class gets its own part of the environment. */
export function createObjects(runtime: Runtime & Provided, options: ObjectsOptions = {}) {
	const { agents, schedules, links, traces } = runtime;
	const { toEnvironment = createEnvironment({}), now, paceMs } = options;
	return {
		Session: bind(Session, toEnvironment, (env) => ({ runtime, links, traces, config: () => readConfig(env) })),
		Ledger: bind(Ledger, toEnvironment, (env) => ({
			now,
			ledgers: () => readConfig(env).ledgers,
			findAlertSender: () => createAlertSender(options.onSpending, readConfig(env)),
		})),
		Directory: bind(Directory, toEnvironment, (env) => ({
			directories: () => readConfig(env).directories,
			now,
			openSchedules: schedules && ((at) => schedules.open({ ...at, agents, config: () => readConfig(env) })),
		})),
		Publisher: bind(Publisher, toEnvironment, (env) => {
			const { skills, local } = readConfig(env);
			// `npm run skills` also writes to local KV, so KV is read each time. Local KV is never stale.
			return { skills, trustMs: local ? 0 : undefined, paceMs };
		}),
	};
}

type Constructor<T, Rest extends readonly unknown[]> = new (ctx: DurableObjectState, env: Env, ...rest: Rest) => T;

/** Makes a class that the platform can construct. `Base` needs more arguments than the platform passes. */
function bind<T extends DurableObject<Env>, Options>(
	Base: Constructor<T, [Options]>,
	toEnvironment: (env: Env) => WorkerEnv,
	toOptions: (env: WorkerEnv) => Options,
): Constructor<T, []> {
	const Wanting: Constructor<DurableObject<Env>, [Options]> = Base;
	const Bound: Constructor<DurableObject<Env>, []> = class extends Wanting {
		constructor(ctx: DurableObjectState, given: Env) {
			const env = toEnvironment(given);
			super(ctx, env, toOptions(env));
		}
	};
	// SAFETY: `Bound` extends `Base`, whose instances are `T`. A class cannot extend a type parameter.
	return Bound as Constructor<T, []>;
}
