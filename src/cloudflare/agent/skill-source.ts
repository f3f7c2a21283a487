import * as v from 'valibot';
import type { Actor } from '../../core/base/actor.ts';
import type { Env } from '../../core/base/env.ts';
import { isRecord } from '../../core/base/json.ts';
import type { SkillResolver } from '../../core/skill/index.ts';

/** Whom a resolver is made for. */
export interface SkillReader {
	readonly owner: string;
	/** The person of the session. */
	readonly user?: string;
	/** The metadata of the session. */
	readonly metadata: Readonly<Record<string, string>>;
	/** Who sent the message that the run answers. Missing where no run asks, such as in the list of agents. */
	readonly askedBy?: Actor;
}

/**
 * Where skills come from in place of KV: a resolver for everybody, or a function that gives one for an owner and a reader.
 * It is called for each run, so it must be quick; the resolver itself may wait.
 */
export type SkillSource = SkillResolver | ((env: Env, owner: string, reader: SkillReader) => SkillResolver | undefined);

export const skillSource = v.custom<SkillSource>(
	(value) => typeof value === 'function' || isResolver(value),
	'must be a resolver, { listFn, readFn }, or a function of the environment and the owner that gives one',
);

/** Returns the resolver for a reader. If the function of the project throws, so does each call of the resolver. */
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
