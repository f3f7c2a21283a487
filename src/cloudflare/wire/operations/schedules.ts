import { operation } from '../operation.ts';
import { schedule, scheduleBody, schedulePage, schedulePageQuery } from '../schedule.ts';
import * as example from './shared.ts';

const asked = { name: 'check-inbox', text: 'Look at the inbox.', every: '30m' };

const session = example.session.id;

const shown = {
	id: `session.${session}.check-inbox`,
	session,
	...asked,
	nextAt: '2026-11-23T09:30:00.000Z',
	last: { at: '2026-11-23T09:00:00.000Z', outcome: 'skipped', reason: 'the budget of the day is spent' },
};

const morning = {
	id: 'agent.digest.morning',
	name: 'morning',
	agent: 'digest',
	cron: '0 7 * * *',
	timezone: 'Europe/Berlin',
	nextAt: '2026-11-24T06:00:00.000Z',
};

export const listSchedules = operation({
	method: 'get',
	path: '/v1/schedules',
	access: 'manageSession',
	tag: 'Schedules',
	summary: 'List what wakes your agents and sessions',
	description: 'With the next time of each, and what became of the last one.',
	query: schedulePageQuery,
	answers: { 200: { says: 'A page of them.', json: schedulePage, examples: { two: { schedules: [morning, shown] } } } },
});

export const putSchedule = operation({
	method: 'post',
	path: '/v1/schedules',
	access: 'manageSession',
	tag: 'Schedules',
	summary: 'Have a session woken',
	description:
		'With a message, once or again and again. One of the same session and name takes the place of the one before.',
	json: scheduleBody,
	examples: { often: { session, ...asked } },
	answers: { 201: { says: 'The schedule.', json: schedule, examples: { often: shown } } },
	errors: [404, 409],
});

export const cancelSchedule = operation({
	method: 'delete',
	path: '/v1/schedules/:id',
	access: 'manageSession',
	tag: 'Schedules',
	summary: 'Cancel a schedule',
	description: 'Of a session. Those of an agent stand in its code.',
	answers: { 204: { says: 'It wakes no more.' } },
	errors: [404, 409],
});
