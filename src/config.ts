import * as v from 'valibot';
import { check } from './check.ts';
import { RunletError } from './errors.ts';
import type { SessionNamespace } from './session/api.ts';
import type { SkillStore } from './skill/index.ts';

/** What `wrangler.toml` binds, and what the environment may set. */
export interface Env {
	/** Sessions: the Durable Object class of `worker.ts`. */
	readonly SESSIONS: SessionNamespace;
	/** Published skills. */
	readonly SKILLS: SkillStore;
	/** Model of every agent that names none; `demo`. */
	readonly MODEL?: string;
	/** `true` only under `npm start`: answers without an API key. */
	readonly LOCAL?: string;
}

/** The environment, read and checked. */
export interface Config {
	readonly sessions: SessionNamespace;
	readonly skills: SkillStore;
	readonly model: string;
	readonly local: boolean;
}

const variables = v.object({
	MODEL: v.optional(
		v.pipe(v.string(), v.trim(), v.nonEmpty('must not be empty. Set it under [vars] in wrangler.toml')),
		'demo',
	),
	LOCAL: v.optional(v.picklist(['true', 'false'], 'must be true or false. It is set by npm start'), 'false'),
});

const known = new WeakMap<Env, Config>();

/**
 * The only reader of `env`. Throws `not_configured` that names the variable or binding and says where to set it.
 */
export function config(env: Env): Config {
	const cached = known.get(env);
	if (cached !== undefined) return cached;
	const { MODEL: model, LOCAL } = check(variables, env, 'env', 'not_configured');
	for (const binding of ['SESSIONS', 'SKILLS'] as const) {
		if (env[binding] === undefined)
			throw new RunletError('not_configured', `${binding}: this binding is missing in wrangler.toml.`);
	}
	const read: Config = { sessions: env.SESSIONS, skills: env.SKILLS, model, local: LOCAL === 'true' };
	known.set(env, read);
	return read;
}
