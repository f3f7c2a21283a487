import * as v from 'valibot';
import type { Env } from '../../core/ground/env.ts';
import { isRecord } from '../../core/ground/json.ts';
import type { SkillResolver } from '../../core/skill/index.ts';

/**
 * Where skills come from in place of KV: a resolver for everybody, or a function that gives one for an owner. It is
 * called for each run, so it must be quick; the resolver itself may wait.
 */
export type SkillSource = SkillResolver | ((env: Env, owner: string) => SkillResolver | undefined);

export const skillSource = v.custom<SkillSource>(
	(value) => typeof value === 'function' || isResolver(value),
	'must be a resolver, { listFn, readFn }, or a function of the environment and the owner that gives one',
);

/** Returns the resolver for an owner. If the function of the project throws, so does each call of the resolver. */
export function findResolver(source: SkillSource, env: Env, owner: string): SkillResolver | undefined {
	if (typeof source !== 'function') return source;
	try {
		return source(env, owner);
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
