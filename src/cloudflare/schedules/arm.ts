import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { type Agent, blameAgent } from '../agent/define.ts';
import { userName } from '../auth/rights.ts';
import type { Config } from '../config/config.ts';
import { askDirectory } from '../objects/directory/api.ts';
import { takeValue } from '../objects/reach.ts';
import type { NewSchedule } from '../objects/schedule-api.ts';
import { scheduleName } from '../wire/schedule.ts';
import { assertTime } from './time.ts';

const timeText = v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)));

const schedule = v.pipe(
	v.strictObject({
		name: scheduleName,
		cron: timeText,
		every: timeText,
		timezone: timeText,
		text: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100_000))),
		fn: v.optional(v.function('must be a function')),
		session: v.optional(v.picklist(['same', 'new'])),
		owner: v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(128))),
		user: v.optional(userName),
	}),
	v.check(({ text, fn }) => (text === undefined) !== (fn === undefined), 'give either text or fn'),
);

const schema = v.object({
	schedules: v.pipe(
		v.array(schedule),
		v.maxLength(100, 'at most 100'),
		v.check((list) => new Set(list.map(({ name }) => name)).size === list.length, 'two of them have one name'),
	),
});

/** Throws `invalid_agent`, which names the field, for an invalid schedule or a time that never occurs. */
export function assertSchedules({ name, schedules = [] }: Agent): void {
	blameAgent(name, () => {
		check(schema, { schedules }, 'agent', 'invalid_agent');
		for (const [index, time] of schedules.entries()) assertTime(time, Date.now(), `schedules.${index}.`);
	});
}

/** Sends the schedules of all agents to the directories of their owners. Repeated calls change nothing. */
export async function armSchedules(agents: readonly Agent[], config: () => Config): Promise<void> {
	const { directories, scheduleOwner: usual } = config();
	if (usual === undefined) return;
	// The default owner is always included: an empty list removes the schedules that no agent has any more.
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
