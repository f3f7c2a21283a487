import { inMemoryResolver, kvResolver, type SkillResolver } from '../../core/skill/index.ts';
import { joinResolvers, restrictResolver } from '../../core/skill/resolver.ts';
import type { Config } from '../config/config.ts';
import { log } from '../log.ts';
import type { Agent } from './define.ts';
import type { Runtime } from './runtime.ts';
import { findResolver, type SkillReader } from './skill-source.ts';

interface Reader {
	readonly runtime: Pick<Runtime, 'skills'>;
	readonly config: Config;
	/** Makes the vectors of queries, and charges their cost. Without vectors, skills are found by words. */
	readonly embedFn?: (model: string, texts: readonly string[]) => Promise<readonly (readonly number[])[]>;
	readonly reader: SkillReader;
}

/**
 * Makes the resolver of an agent's skills for one run: the skills in its code, and the skills that it names. Named
 * skills come from its own resolver, the Worker's, or KV. An agent with its own resolver and no names gets all skills.
 */
export function createResolver(agent: Agent, reader: Reader): SkillResolver | undefined {
	return joinSkills(agent, (names) => findGiven(agent, names, reader));
}

export function joinSkills(
	{ skills, skillResolver }: Agent,
	findGiven: (names: readonly string[] | undefined) => SkillResolver | undefined,
): SkillResolver | undefined {
	const own = skills === 'all' ? [] : skills.filter((entry) => typeof entry !== 'string');
	const named = skills === 'all' ? undefined : skills.filter((entry) => typeof entry === 'string');
	const names = skillResolver !== undefined && named?.length === 0 ? undefined : named;
	const others = names?.length === 0 ? undefined : findGiven(names);
	const resolvers = [...(own.length === 0 ? [] : [inMemoryResolver(own)]), ...(others === undefined ? [] : [others])];
	return resolvers.length > 1 ? joinResolvers(resolvers) : resolvers[0];
}

/** Returns the skills that are not in the agent's code. Without `names`, returns all of them. */
function findGiven(
	agent: Agent,
	names: readonly string[] | undefined,
	{ runtime, config, embedFn, reader }: Reader,
): SkillResolver | undefined {
	const source = agent.skillResolver ?? runtime.skills;
	if (source === undefined) return createPublished(agent, names, config, embedFn);
	return findNamed(findResolver(source, config.env, reader), names);
}

export function findNamed(
	resolver: SkillResolver | undefined,
	names: readonly string[] | undefined,
): SkillResolver | undefined {
	return resolver === undefined || names === undefined ? resolver : restrictResolver(resolver, names);
}

/** Makes the resolver of published skills. If the skills have vectors, queries get vectors, too. */
function createPublished(
	{ name: agent }: Agent,
	names: readonly string[] | undefined,
	{ skills: kv, local }: Config,
	embedFn: Reader['embedFn'],
): SkillResolver {
	return kvResolver(kv, {
		names,
		// On a laptop an edited skill is read at once.
		...(local && { cacheMs: 0 }),
		embedFn,
		onProblem: (_, problem, skill) =>
			log('warn', 'skills.problem', {
				'gen_ai.agent.name': agent,
				'runlet.skill.name': skill,
				'error.type': problem,
			}),
	});
}
