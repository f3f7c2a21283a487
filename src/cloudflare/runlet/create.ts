import type { DurableObject } from 'cloudflare:workers';
import type { ExecutionContext } from 'hono';
import { Hono } from 'hono/tiny';
import type { Env } from '../../core/base/env.ts';
import { blameCaller, RunletError, toMessageText } from '../../core/base/errors.ts';
import type { ProviderRegistration } from '../../core/chat/index.ts';
import type { Runtime } from '../agent/runtime.ts';
import { type Config, readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { createEnvironment } from '../config/environment.ts';
import { createProviders, withPrices } from '../config/models.ts';
import { log, toFailureFields } from '../log.ts';
import { joinProvided } from '../plugin.ts';
import { createApp } from '../routes/app.ts';
import { createObjects } from './objects.ts';
import { assertOptions, type RunletOptions } from './options.ts';

/** A Durable Object class that a Worker exports and `wrangler.toml` binds. */
export type ObjectClass = new (ctx: DurableObjectState, env: Env) => DurableObject<Env>;

/** A Runlet: the default export of a Worker, and its Durable Objects. */
export interface Runlet {
	/** Answers a request. A host with other routes mounts it: `host.mount('/ai', runlet.fetch)`. */
	readonly fetch: (request: Request, env: Env, context?: ExecutionContext) => Promise<Response>;
	/**
	 * For a cron trigger. A Worker without requests needs the trigger after a deploy, to learn of its agents'
	 * schedules (docs/schedules.md). The trigger itself wakes nothing: only alarms wake agents and sessions.
	 */
	readonly scheduled: (event: unknown, env: Env) => Promise<void>;
	/** The same as a Hono app: `host.route('/ai', runlet.app)`. */
	readonly app: Hono<{ Bindings: Env }>;
	/** The Durable Object of a session, bound as `SESSIONS`. */
	readonly Session: ObjectClass;
	/** The Durable Object that counts what an owner spends, bound as `LEDGERS`. */
	readonly Ledger: ObjectClass;
	/** The Durable Object that lists an owner's sessions, bound as `DIRECTORIES`. */
	readonly Directory: ObjectClass;
	/** The Durable Object that writes published skills, bound as `PUBLISHERS`. */
	readonly Publisher: ObjectClass;
}

/**
 * Creates a Runlet from your agents. Throws `not_configured` or `invalid_agent` when the Worker starts. These errors
 * name the field and the remedy. Problems of the environment appear in answers, and in `/healthz?deep`.
 */
export function createRunlet(options: RunletOptions): Runlet {
	blameCaller(createRunlet, () => assertOptions(options));
	const { agents, providers, skills, plugins = [], traces } = options;
	const { authenticate, onSpending, page, basePath = '', bindings } = options;
	const toEnvironment = createEnvironment({
		agents,
		bindings,
		hasAccounts: authenticate !== undefined,
		hasOwnSkills: skills !== undefined,
	});
	const runtime = { agents, providers: toProviders(providers), skills, traces, ...joinProvided(plugins) };
	const routes = createApp({ ...runtime, authenticate, page, basePath }, plugins);
	const arm = createArming(runtime);
	const fetch: Runlet['fetch'] = async (request, env, context) => {
		const environment = toEnvironment(env);
		const armed = arm(environment);
		if (armed !== undefined) context?.waitUntil(armed);
		return routes.fetch(takeOff(basePath, request), environment, context);
	};
	return {
		fetch,
		scheduled: async (_, env) => arm(toEnvironment(env)),
		app: new Hono<{ Bindings: Env }>().all('*', (c) => fetch(c.req.raw, c.env, findContext(c))),
		...createObjects(runtime, { toEnvironment, onSpending }),
	};
}

/** Makes the function that stores the agents' schedules once per environment. After a failure the next call retries. */
function createArming({ agents, schedules }: Runtime): (env: WorkerEnv) => Promise<void> | undefined {
	const armed = new WeakSet<WorkerEnv>();
	return (env) => {
		if (schedules === undefined || armed.has(env)) return undefined;
		armed.add(env);
		return schedules
			.arm(agents, () => readConfig(env))
			.catch((cause) => {
				armed.delete(env);
				log('warn', 'schedules.not_armed', toFailureFields(cause));
			});
	};
}

/** Makes the providers once for each environment: a provider keeps its client. */
function toProviders(given: RunletOptions['providers']): Runtime['providers'] {
	if (given === undefined) return createProviders;
	const list = typeof given === 'function' ? given : () => given;
	const made = new WeakMap<Config, readonly ProviderRegistration[]>();
	return (config) => {
		const known = made.get(config) ?? withPrices(callProviders(list, config.env), config);
		made.set(config, known);
		return known;
	};
}

/** Calls the project's function. Turns every error that it throws into `not_configured`. */
function callProviders(list: (env: Env) => readonly ProviderRegistration[], env: Env): readonly ProviderRegistration[] {
	try {
		return list(env);
	} catch (cause) {
		const message = `providers of createRunlet threw an error: ${toMessageText(cause)}`;
		throw new RunletError('not_configured', message, undefined, { cause });
	}
}

/** Removes the base path from a request's address. Does nothing if the host has already removed it. */
function takeOff(basePath: string, request: Request): Request {
	if (basePath === '') return request;
	const url = new URL(request.url);
	if (url.pathname !== basePath && !url.pathname.startsWith(`${basePath}/`)) return request;
	url.pathname = url.pathname.slice(basePath.length) || '/';
	return new Request(url, request);
}

/** Returns the context of a request. Returns undefined outside of Workers, where Hono throws. */
function findContext(c: { readonly executionCtx: ExecutionContext }): ExecutionContext | undefined {
	try {
		return c.executionCtx;
	} catch {
		return undefined;
	}
}
