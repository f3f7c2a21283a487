import * as v from 'valibot';
import { resultsBody } from '../call.ts';
import { createEndpoint } from '../endpoint.ts';
import { feedbackBody } from '../feedback.ts';
import { answerBody, messageBody } from '../message.ts';
import { count, place } from '../page.ts';

export const listMessages = createEndpoint('get', '/v1/sessions/:id/messages', {
	access: 'readSession',
	adminToo: true,
	query: v.object({
		cursor: v.optional(place),
		limit: v.optional(count(500), '100'),
		order: v.optional(v.picklist(['asc', 'desc'])),
		replaced: v.optional(
			v.pipe(v.literal('false'), v.description('Leaves out the messages that an edit or a regeneration replaced.')),
		),
	}),
});

export const getMessage = createEndpoint('get', '/v1/sessions/:id/messages/:message', {
	access: 'readSession',
	adminToo: true,
});

export const sendMessage = createEndpoint('post', '/v1/sessions/:id/messages', {
	access: 'sendMessage',
	json: messageBody,
});

export const listWaiting = createEndpoint('get', '/v1/sessions/:id/waiting', { access: 'readSession', adminToo: true });

export const removeWaiting = createEndpoint('delete', '/v1/sessions/:id/waiting/:runId', { access: 'sendMessage' });

export const answerQuestion = createEndpoint('post', '/v1/sessions/:id/answer', {
	access: 'sendMessage',
	json: answerBody,
});

export const submitResults = createEndpoint('post', '/v1/sessions/:id/tool-results', {
	access: 'sendMessage',
	json: resultsBody,
});

export const rateRun = createEndpoint('put', '/v1/sessions/:id/runs/:runId/feedback', {
	access: 'readSession',
	json: feedbackBody,
});

export const unrateRun = createEndpoint('delete', '/v1/sessions/:id/runs/:runId/feedback', { access: 'readSession' });

export const continueRun = createEndpoint('post', '/v1/sessions/:id/continue', { access: 'sendMessage' });

export const stepRun = createEndpoint('post', '/v1/sessions/:id/step', { access: 'sendMessage' });

export const followRun = createEndpoint('get', '/v1/sessions/:id/events', {
	access: 'readSession',
	adminToo: true,
	query: v.object({
		from: v.optional(
			v.pipe(place, v.description('The id of an assistant message of the newest run: begins with its turn.')),
		),
	}),
});

export const cancelRun = createEndpoint('post', '/v1/sessions/:id/cancel', { access: 'sendMessage' });
