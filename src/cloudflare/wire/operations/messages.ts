import * as v from 'valibot';
import { resultsBody } from '../call.ts';
import { answerBody, messageBody } from '../message.ts';
import { operation } from '../operation.ts';
import { count, place } from '../page.ts';

export const listMessages = operation({
	method: 'get',
	path: '/v1/sessions/:id/messages',
	access: 'readSession',
	adminToo: true,
	query: v.object({
		cursor: v.optional(place),
		limit: v.optional(count(500), '100'),
		order: v.optional(v.picklist(['asc', 'desc'])),
	}),
});

export const getMessage = operation({
	method: 'get',
	path: '/v1/sessions/:id/messages/:message',
	access: 'readSession',
	adminToo: true,
});

export const sendMessage = operation({
	method: 'post',
	path: '/v1/sessions/:id/messages',
	access: 'sendMessage',
	json: messageBody,
});

export const listWaiting = operation({
	method: 'get',
	path: '/v1/sessions/:id/waiting',
	access: 'readSession',
	adminToo: true,
});

export const removeWaiting = operation({
	method: 'delete',
	path: '/v1/sessions/:id/waiting/:runId',
	access: 'sendMessage',
});

export const answerQuestion = operation({
	method: 'post',
	path: '/v1/sessions/:id/answer',
	access: 'sendMessage',
	json: answerBody,
});

export const submitResults = operation({
	method: 'post',
	path: '/v1/sessions/:id/tool-results',
	access: 'sendMessage',
	json: resultsBody,
});

export const continueRun = operation({
	method: 'post',
	path: '/v1/sessions/:id/continue',
	access: 'sendMessage',
});

export const stepRun = operation({
	method: 'post',
	path: '/v1/sessions/:id/step',
	access: 'sendMessage',
});

export const followRun = operation({
	method: 'get',
	path: '/v1/sessions/:id/events',
	access: 'readSession',
	adminToo: true,
});

export const cancelRun = operation({
	method: 'post',
	path: '/v1/sessions/:id/cancel',
	access: 'sendMessage',
});
