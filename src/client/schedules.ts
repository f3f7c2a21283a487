import type { Http, SignalOption } from './http.ts';
import type { Schedule, ScheduleBody } from './types.ts';

export type ScheduleClient = ReturnType<typeof createScheduleClient>;

/** Creates the methods of `/v1/schedules`: what wakes an owner's sessions and agents. They need an API key. */
export function createScheduleClient(http: Http) {
	return {
		/** Lists the schedules of the owner, or those of a session. */
		async listSchedules({ session, signal }: SignalOption & { readonly session?: string } = {}): Promise<Schedule[]> {
			const query = session === undefined ? '' : `?session=${encodeURIComponent(session)}`;
			return (await http.json<{ schedules: Schedule[] }>(`/v1/schedules${query}`, { signal })).schedules;
		},

		/** Has a session woken. One of the same session and name takes the place of the one before. */
		putSchedule(body: ScheduleBody, { signal }: SignalOption = {}): Promise<Schedule> {
			return http.json('/v1/schedules', { method: 'POST', body, signal });
		},

		/** Cancels a schedule of a session. */
		cancelSchedule(id: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(`/v1/schedules/${encodeURIComponent(id)}`, signal);
		},
	};
}
