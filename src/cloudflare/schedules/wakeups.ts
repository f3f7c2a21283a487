import type { Wakeup, Wakeups } from '../../core/tool/index.ts';
import type { WakingSession } from '../agent/schedule-connector.ts';
import { askDirectory, type DirectoryApi } from '../objects/directory/api.ts';
import { type RpcResult, takeValue } from '../objects/reach.ts';
import type { StoredSchedule } from '../objects/schedule-api.ts';
import { assertTime } from './time.ts';

export function createWakeups({ session, owner, user, askers, directory, directories }: WakingSession): Wakeups {
	const target = { kind: 'session', session } as const;
	const ask = async <T>(call: (one: DirectoryApi) => Promise<RpcResult<T>>): Promise<T> =>
		takeValue(await askDirectory(directories, directory, call));
	return {
		set: async ({ name, text, cron, every, at, timezone }) => {
			const time = { cron, every, at, timezone };
			assertTime(time, Date.now());
			return toWakeup(await ask((one) => one.putSchedule({ owner, user, target, name, time, text, askers: askers() })));
		},
		list: async () => (await ask((one) => one.listSchedules({ session }))).map(toWakeup),
		cancel: (name) => ask((one) => one.cancelSchedule(target, name)),
	};
}

function toWakeup({ name, text = '', time, dueAt, last }: StoredSchedule): Wakeup {
	return { name, text, ...time, ...(dueAt !== undefined && { nextAt: new Date(dueAt).toISOString() }), last };
}
