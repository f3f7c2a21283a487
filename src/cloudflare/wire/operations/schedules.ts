import * as v from 'valibot';
import { operation } from '../operation.ts';
import { scheduleBody } from '../schedule.ts';

export const listSchedules = operation({
	method: 'get',
	path: '/v1/schedules',
	access: 'manageSession',
	query: v.strictObject({
		session: v.optional(v.pipe(v.string(), v.maxLength(200), v.description('Only those of this session.'))),
	}),
});

export const putSchedule = operation({
	method: 'post',
	path: '/v1/schedules',
	access: 'manageSession',
	json: scheduleBody,
});

export const cancelSchedule = operation({
	method: 'delete',
	path: '/v1/schedules/:id',
	access: 'manageSession',
});
