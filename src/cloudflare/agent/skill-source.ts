import * as v from 'valibot';
import type { Actor } from '../../core/base/actor.ts';
import type { Env } from '../../core/base/env.ts';
import { isRecord } from '../../core/base/json.ts';
import type { SkillResolver } from '../../core/skill/index.ts';

/** The person for whom a resolver reads skills. */
export interface SkillReader {
	readonly owner: string;
	/** The user of the session. */
	readonly user?: string;
	readonly metadata: Readonly<Record<string, string>>;
	/** The sender of the run's message. Missing outside of a run, such as for the list of agents. */
	readonly askedBy?: Actor;
}

/** The source of skills that replaces KV: a resolver, or a function that returns the resolver for a reader. */
export type SkillSource = SkillResolver | ((env: Env, owner: string, reader: SkillReader) => SkillResolver | undefined);

export const skillSource = v.custom<SkillSource>(
	(value) => typeof value === 'function' || isResolver(value),
	'must be a resolver, { listFn, readFn }, or a function of the environment and the owner that gives one',
);

/** If the project's function throws, returns a resolver that throws the same error at each call. */
export function findResolver(source: SkillSource, env: Env, reader: SkillReader): SkillResolver | undefined {
	if (typeof source !== 'function') return source;
	try {
		return source(env, reader.owner, reader);
	} catch (error) {
		const fail = (): never => {
			throw error;
		};
		return { listFn: fail, readFn: fail };
	}
}

function isResolver(value: unknown): boolean {
	return isRecord(value) && typeof value.listFn === 'function' && typeof value.readFn === 'function';
}
