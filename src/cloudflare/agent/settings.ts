import { memoize } from '../../core/base/memoize.ts';
import { listProviderTools } from '../../core/chat/provider-tool.ts';
import type { Agent } from './define.ts';

/** Returns the settings of an agent that are plain data, and the names of its skills and servers. */
export const readSettings = memoize((agent: Agent): Readonly<Record<string, unknown>> => {
	const { name: _, description: __, examples, system, tools, skillTools, skillResolver, webhooks, ...rest } = agent;
	const { approvers, onWaiting, schedules, outputSchema, providerTools, mcp, skills, ...plain } = rest;
	const names = {
		skills: skills === 'all' ? skills : skills.map((skill) => (typeof skill === 'string' ? skill : skill.name)),
		mcp: mcp?.map(({ name }) => name),
		providerTools: providerTools && listProviderTools({ providerTools }).map(({ type }) => type),
	};
	return JSON.parse(JSON.stringify({ ...plain, ...names }));
});
