import type { Agent } from '../agent/define.ts';
import type { Config } from '../config/config.ts';
import { askDirectory } from '../objects/directory/api.ts';
import { takeValue } from '../objects/result.ts';
import type { NewSchedule } from '../objects/schedule-api.ts';

/**
 * Tells the owners' directories what the agents' schedules are, all of each owner's at once. Those that are the same stay
 * as they are, so it may be told often.
 */
export async function armSchedules(agents: readonly Agent[], config: () => Config): Promise<void> {
	const { directories, scheduleOwner: usual } = config();
	if (usual === undefined) return;
	// The usual owner hears of it too when its last schedule is gone.
	const owners = new Map<string, NewSchedule[]>([[usual, []]]);
	for (const agent of agents)
		for (const { name, cron, every, timezone, user, owner = usual } of agent.schedules ?? []) {
			const target = { kind: 'agent', agent: agent.name } as const;
			const all = owners.get(owner) ?? [];
			owners.set(owner, [...all, { owner, user, target, name, time: { cron, every, timezone } }]);
		}
	const told = [...owners].map(async ([owner, all]) =>
		takeValue(await askDirectory(directories, owner, (one) => one.setAgentSchedules(all))),
	);
	await Promise.all(told);
}
