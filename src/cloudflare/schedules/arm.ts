import type { Agent } from '../agent/define.ts';
import type { Config } from '../config/config.ts';
import { askDirectory } from '../objects/directory/api.ts';
import { takeValue } from '../objects/result.ts';
import type { NewSchedule } from '../objects/schedule-api.ts';

/** Gives agents' schedules to the directories of their owners. Unchanged schedules stay: it may be called often. */
export async function armSchedules(agents: readonly Agent[], config: () => Config): Promise<void> {
	const { directories, scheduleOwner: usual } = config();
	if (usual === undefined) return;
	// The usual owner may have no schedule any more.
	const owners = new Map<string, NewSchedule[]>([[usual, []]]);
	for (const agent of agents)
		for (const { name, cron, every, timezone, user, owner = usual } of agent.schedules ?? []) {
			const target = { kind: 'agent', agent: agent.name } as const;
			const all = owners.get(owner) ?? [];
			owners.set(owner, [...all, { owner, user, target, name, time: { cron, every, timezone } }]);
		}
	const changes = [...owners].map(async ([owner, all]) =>
		takeValue(await askDirectory(directories, owner, (directory) => directory.setAgentSchedules(all))),
	);
	await Promise.all(changes);
}
