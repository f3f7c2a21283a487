import * as endpoints from '../endpoints/schedules.ts';
import { createOperations } from '../operation.ts';
import { schedule, schedulePage, wake } from '../schedule.ts';
import * as example from './shared.ts';

const operation = createOperations('Schedules');

const checkInbox = { name: 'check-inbox', text: 'Look at the inbox.', every: '30m' };

const session = example.session.id;

const shown = {
	id: `session.${session}.check-inbox`,
	session,
	...checkInbox,
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

export const listSchedules = operation(endpoints.listSchedules, {
	summary: 'List what wakes your agents and sessions',
	description: 'Each with its next time, and with the outcome of its last one.',
	answers: {
		200: { says: 'One page of the schedules.', json: schedulePage, examples: { two: { schedules: [morning, shown] } } },
	},
});

export const putSchedule = operation(endpoints.putSchedule, {
	summary: 'Have a session woken',
	description: 'A message wakes it, once or repeatedly. A schedule of the same session and name is replaced.',
	examples: { often: { session, ...checkInbox } },
	answers: { 201: { says: 'The schedule.', json: schedule, examples: { often: shown } } },
	errors: [404, 409],
});

export const runSchedule = operation(endpoints.runSchedule, {
	summary: 'Run a schedule now',
	description: 'As if its time had come. Its next time stays. Two requests are two runs.',
	answers: {
		200: {
			says: 'What became of it.',
			json: wake,
			examples: {
				ran: { at: '2026-11-23T09:12:00.000Z', outcome: 'ran', sessionId: session, runId: example.accepted.runId },
			},
		},
	},
	errors: [404],
});

export const cancelSchedule = operation(endpoints.cancelSchedule, {
	summary: 'Cancel a schedule',
	description: 'Only a schedule of a session. The schedules of an agent are in its code.',
	answers: { 204: { says: 'The schedule is cancelled.' } },
	errors: [409],
});
