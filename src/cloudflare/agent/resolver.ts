import { embed, type ProviderRegistration } from '../../core/chat/index.ts';
import { inMemoryResolver, kvResolver, type SkillResolver } from '../../core/skill/index.ts';
import { joinResolvers } from '../../core/skill/resolver.ts';
import type { Config } from '../config/config.ts';
import { log } from '../log.ts';
import type { Agent } from './define.ts';

/**
 * Makes the resolver of an agent's skills for one run: the skills written in the agent, and the published ones that it
 * names. If they were published with vectors, the providers embed what is searched for. No budget counts that.
 */
export function createResolver(
	{ name: agent, skills }: Agent,
	{ skills: kv, local }: Config,
	providers: readonly ProviderRegistration[],
): SkillResolver | undefined {
	if (skills !== 'all' && skills.length === 0) return undefined;
	const names = skills === 'all' ? undefined : skills.filter((entry) => typeof entry === 'string');
	const own = skills === 'all' ? [] : skills.filter((entry) => typeof entry !== 'string');
	if (names?.length === 0) return inMemoryResolver(own);
	const published = kvResolver(kv, {
		names,
		// On a laptop an edited skill shows at once.
		...(local && { cacheMs: 0 }),
		embedFn: (model, texts) => embed({ model, providers }, texts),
		onProblem: (_, problem, skill) =>
			log('warn', 'skills.problem', {
				'gen_ai.agent.name': agent,
				'runlet.skill.name': skill,
				'error.type': problem,
			}),
	});
	return own.length === 0 ? published : joinResolvers([inMemoryResolver(own), published]);
}
