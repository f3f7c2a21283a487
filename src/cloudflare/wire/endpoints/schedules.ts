import { createEndpoint } from '../endpoint.ts';
import { scheduleBody, schedulePageQuery } from '../schedule.ts';

export const listSchedules = createEndpoint('get', '/v1/schedules', {
	access: 'manageSession',
	query: schedulePageQuery,
});

export const putSchedule = createEndpoint('post', '/v1/schedules', { access: 'manageSession', json: scheduleBody });

export const runSchedule = createEndpoint('post', '/v1/schedules/:id/run', { access: 'manageSession' });

export const cancelSchedule = createEndpoint('delete', '/v1/schedules/:id', { access: 'manageSession' });
