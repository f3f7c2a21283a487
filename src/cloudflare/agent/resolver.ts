import { embed, type ProviderRegistration } from '../../core/chat/index.ts';
import { inMemoryResolver, kvResolver, type SkillResolver } from '../../core/skill/index.ts';
import { joinResolvers } from '../../core/skill/resolver.ts';
import type { Config } from '../config/config.ts';
import { log } from '../log.ts';
import type { Agent } from './define.ts';

/**
 * Where an agent's skills come from in one run: those written in it, and the published ones that it names. Its providers
 * embed what is searched for, where the skills were published with vectors; that is in no budget.
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
		// Who edits skills on a laptop wants to see them at once.
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
