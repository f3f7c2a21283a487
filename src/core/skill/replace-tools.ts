import { forAgent, type Tool } from '../tool/index.ts';
import type { SkillResolver } from './resolver.ts';
import type { Skill } from './skill.ts';

/** Returns a resolver whose skills have other tools: `replace` makes them. */
export function replaceSkillTools(
	resolver: SkillResolver | undefined,
	replace: (tool: Tool) => Tool,
): SkillResolver | undefined {
	if (resolver === undefined) return undefined;
	const known = new WeakMap<Skill, Skill>();
	const change = (skill: Skill): Skill => {
		if (skill.tools === undefined) return skill;
		const changed = known.get(skill) ?? { ...skill, tools: forAgent(skill.tools).map(replace) };
		known.set(skill, changed);
		return changed;
	};
	const changeFound = (skill: Skill | null | undefined) => (skill ? change(skill) : undefined);
	const { findFn, searchFn, moreFn, hasFiles, skills } = resolver;
	return {
		listFn: async (context) => (await resolver.listFn(context)).map(change),
		readFn: async (name) => changeFound(await resolver.readFn(name)),
		...(findFn && { findFn: async (name: string) => changeFound(await findFn.call(resolver, name)) }),
		...(searchFn && { searchFn: searchFn.bind(resolver) }),
		...(moreFn && { moreFn: moreFn.bind(resolver) }),
		...(hasFiles !== undefined && { hasFiles }),
		...(skills && { skills: skills.map(change) }),
	};
}
