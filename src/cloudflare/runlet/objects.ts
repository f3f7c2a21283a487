import type { DurableObject } from 'cloudflare:workers';
import type { Env } from '../../core/base/env.ts';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { createEnvironment } from '../config/environment.ts';
import { log } from '../log.ts';
import { Directory } from '../objects/directory/object.ts';
import { Ledger } from '../objects/ledger/object.ts';
import { Publisher, type PublisherOptions } from '../objects/publisher/object.ts';
import { findOwnerOfShard } from '../objects/shards.ts';
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
	const { agents, schedules, uploads, links, traces, push } = runtime;
	const { toEnvironment = createEnvironment({}), now, paceMs } = options;
	return {
		Session: bind(Session, 'session', toEnvironment, (env) => ({
			runtime,
			links,
			traces,
			push,
			config: () => readConfig(env),
		})),
		Ledger: bind(Ledger, 'ledger', toEnvironment, (env) => ({
			now,
			ledgers: () => readConfig(env).ledgers,
			findAlertSender: () => createAlertSender(options.onSpending, readConfig(env)),
		})),
		Directory: bind(Directory, 'directory', toEnvironment, (env) => ({
			directories: () => readConfig(env).directories,
			now,
			openSchedules: schedules && ((at) => schedules.open({ ...at, agents, config: () => readConfig(env) })),
			openUploads: uploads && ((at) => uploads.open({ ...at, config: () => readConfig(env) })),
		})),
		Publisher: bind(Publisher, 'publisher', toEnvironment, (env) => {
			const { skills, local } = readConfig(env);
			// `npm run skills` also writes to local KV, so KV is read each time. Local KV is never stale.
			return { skills, trustMs: local ? 0 : undefined, paceMs };
		}),
	};
}

type ObjectKind = 'session' | 'ledger' | 'directory' | 'publisher';

/** An object of Cloudflare stores at most 10 GB. From this number of bytes on, Runlet warns. */
const nearlyFull = 8e9;

/** Reports an object that is nearly full, in the log and in Analytics Engine (docs/data.md, "Full objects"). */
function reportFullness({ id, storage }: DurableObjectState, kind: ObjectKind, env: WorkerEnv): void {
	try {
		const bytes = storage.sql.databaseSize;
		if (bytes < nearlyFull) return;
		const owner = kind === 'session' ? undefined : (findOwnerOfShard(id.name) ?? id.name);
		const [object, doubles] = [id.toString(), [...Array(11).fill(0), bytes]];
		log('warn', 'object.nearly_full', {
			...{ 'runlet.object': kind, 'runlet.object.id': object, 'runlet.object.bytes': bytes, 'runlet.owner': owner },
		});
		const blobs = ['', '', '', 'nearly_full', kind, object];
		readConfig(env).metrics?.writeDataPoint({ indexes: [owner?.slice(0, 96) ?? ''], blobs, doubles });
	} catch {
		// Without SQLite or a right configuration, the calls of the object fail and say why.
	}
}

type Constructor<T, Rest extends readonly unknown[]> = new (ctx: DurableObjectState, env: Env, ...rest: Rest) => T;

/** Makes a class that the platform can construct. `Base` needs more arguments than the platform passes. */
function bind<T extends DurableObject<Env>, Options>(
	Base: Constructor<T, [Options]>,
	kind: ObjectKind,
	toEnvironment: (env: Env) => WorkerEnv,
	toOptions: (env: WorkerEnv) => Options,
): Constructor<T, []> {
	const Wanting: Constructor<DurableObject<Env>, [Options]> = Base;
	const Bound: Constructor<DurableObject<Env>, []> = class extends Wanting {
		constructor(ctx: DurableObjectState, given: Env) {
			const env = toEnvironment(given);
			super(ctx, env, toOptions(env));
			reportFullness(ctx, kind, env);
		}
	};
	// SAFETY: `Bound` extends `Base`, whose instances are `T`. A class cannot extend a type parameter.
	return Bound as Constructor<T, []>;
}
